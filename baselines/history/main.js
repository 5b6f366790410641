'use strict';
dlroof.openFromAddress = () => {
  const id = Number(new URLSearchParams(location.hash.slice(1)).get('series'));
  const index = dlroof.series.findIndex((series) => series.id === id);
  if (index >= 0) dlroof.openSeries(index);
};

dlroof.watchIndex = () => {
  let timer = 0;
  for (const id of ['filter-text', 'filter-machine', 'sort']) {
    dlroof.byId(id).addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(dlroof.drawList, id === 'filter-text' ? 150 : 0);
    });
  }
  dlroof.byId('filters').addEventListener('submit', (event) => event.preventDefault());
  dlroof.byId('diff').addEventListener('submit', (event) => {
    event.preventDefault();
    dlroof.drawDiff();
  });
  document.querySelector('main').addEventListener('click', (event) => {
    const target = event.target.closest('[data-index]');
    if (target === null) return;
    dlroof.openSeries(Number(target.dataset.index));
    dlroof.byId('series-section').scrollIntoView({block: 'start'});
  });
  dlroof.byId('series-close').addEventListener('click', dlroof.closeSeries);
  addEventListener('hashchange', dlroof.openFromAddress);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (dlroof.shownSeries !== undefined) dlroof.openSeries(dlroof.shownSeries);
  });
};

dlroof.drawIndex();
dlroof.fillDates();
dlroof.watchIndex();
dlroof.openFromAddress();
document.documentElement.dataset.listed = 'yes';
