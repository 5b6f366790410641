'use strict';
// Draws the text first, and the charts as soon as plotly is loaded.
dlroof.chartsReady = false;

dlroof.redrawCharts = (shown) => {
  if (!dlroof.chartsReady) return;
  dlroof.drawClassic(shown);
  dlroof.drawTime(shown);
};

dlroof.changed = () => {
  const shown = dlroof.filtered();
  dlroof.drawLegend(dlroof.changed);
  dlroof.byId('shown').textContent = `${shown.length} of ${dlroof.records.length} shown`;
  dlroof.drawTable(shown);
  dlroof.drawLimits(shown);
  dlroof.redrawCharts(shown);
  dlroof.writeAddress();
};

dlroof.select = (index) => {
  const name = dlroof.text(dlroof.records[index].name);
  dlroof.state.selected = dlroof.state.selected === name ? '' : name;
  for (const row of dlroof.byId('records-body').querySelectorAll('tr[data-index]')) {
    row.setAttribute(
        'aria-selected',
        String(dlroof.state.selected !== '' && dlroof.text(dlroof.records[Number(row.dataset.index)].name) === dlroof.state.selected));
  }
  dlroof.drawSelected();
  for (const chart of ['classic', 'time']) dlroof.drawRings(dlroof.byId(chart));
  dlroof.writeAddress();
};

dlroof.redraw = () => {
  dlroof.drawLegend(dlroof.changed);
  dlroof.redrawCharts(dlroof.filtered());
  dlroof.redrawSweeps();
};

dlroof.watchWindow = () => {
  let timer = 0;
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (dlroof.printing || entry.contentRect.width === width) return;
    const first = width === 0;
    width = entry.contentRect.width;
    clearTimeout(timer);
    if (!first) timer = setTimeout(dlroof.redraw, 100);
  }).observe(document.querySelector('.charts'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', dlroof.redraw);
  const print = (on) => {
    dlroof.printing = on;
    if (on) dlroof.addRows(2000);
    for (const part of document.querySelectorAll('details.printed')) {
      if (on) part.dataset.was = part.open ? 'open' : '';
      part.open = on || part.dataset.was === 'open';
    }
    dlroof.redraw();
  };
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  addEventListener('hashchange', () => {
    dlroof.readAddress();
    dlroof.showFilters();
    dlroof.changed();
    dlroof.showLinked();
  });
};

// Shows the benchmark of a link: its roofs are chosen, its row is drawn, and its panel is scrolled into view.
dlroof.showLinked = () => {
  const index = dlroof.records.findIndex((record) => dlroof.text(record.name) === dlroof.state.selected);
  if (dlroof.state.selected === '' || index < 0) return;
  if (!dlroof.hasStatus(dlroof.records[index])) {
    dlroof.state.status = 'all';
    dlroof.showFilters();
    dlroof.changed();
  }
  const own = dlroof.roofs.findIndex(
      (roofs) => roofs.device === dlroof.records[index].device &&
          (!dlroof.records[index].threads || dlroof.records[index].threads === roofs.threads));
  if (own >= 0 && !dlroof.onRoofs(dlroof.records[index])) {
    dlroof.state.roofs = String(own);
    dlroof.showFilters();
    dlroof.changed();
  }
  const place = dlroof.rows.order.indexOf(index);
  if (place >= dlroof.rows.drawn) dlroof.addRows(place + 1 - dlroof.rows.drawn);
  dlroof.drawSelected();
  dlroof.byId('selected').scrollIntoView({block: 'nearest'});
};

dlroof.readAddress();
dlroof.drawHeader();
dlroof.fillFilters();
dlroof.showFilters();
dlroof.watchFilters(dlroof.changed);
dlroof.makeHead(dlroof.changed);
dlroof.watchTable();
dlroof.changed();
dlroof.drawSelected();
dlroof.showLinked();
dlroof.drawProgram();
dlroof.drawOpportunities();
dlroof.drawFindings();
dlroof.drawTrajectories();
dlroof.drawModels();
dlroof.drawZeroFlopKernels();
dlroof.drawMachines();
dlroof.watchWindow();

// The charts are drawn after the first paint of text and table. A page in the background gets no frame, so a timer draws them too.
dlroof.beginCharts = () => {
  if (dlroof.chartsReady) return;
  dlroof.chartsReady = true;
  dlroof.redrawCharts(dlroof.filtered());
  dlroof.watchSweeps();
  document.documentElement.dataset.drawn = 'yes';
};
document.addEventListener('DOMContentLoaded', () => {
  requestAnimationFrame(() => setTimeout(dlroof.beginCharts));
  setTimeout(dlroof.beginCharts, 500);
});
