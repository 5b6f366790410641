'use strict';
// The index: last changes, all series, all dates. All numbers come from dashboard.cpp.
dlroof.series = dlroof.list(dlroof.content.series);
dlroof.runs = dlroof.list(dlroof.content.runs);
dlroof.machines = dlroof.list(dlroof.content.machines);
dlroof.piece = 100;  // [rows] drawn per step

dlroof.dateText = (run) => dlroof.text(run.date).slice(0, 16).replace('T', ' ') || `run ${run.id}`;
dlroof.markOf = (estimate) => (estimate ? '~' : '');  // too few repetitions were clean
dlroof.commitText = (run) => dlroof.text(run.commit).slice(0, 12);
dlroof.lastChange = (series) => series.changes[series.changes.length - 1];
dlroof.changeText = (ratio) => {
  const percent = (ratio - 1) * 100;
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`;
};
dlroof.addChange = (parent, tag, ratio) => dlroof.add(parent, tag, `number ${ratio > 1 ? 'slower' : 'faster'}`, dlroof.changeText(ratio));

// Draws rows in chunks, so that thousands do not block the page.
dlroof.drawRows = (body, more, items, row) => {
  body.replaceChildren();
  let drawn = 0;
  const next = () => {
    for (const end = Math.min(items.length, drawn + dlroof.piece); drawn < end; drawn += 1) row(body, items[drawn]);
    more.hidden = drawn >= items.length;
    more.textContent = `Show ${Math.min(dlroof.piece, items.length - drawn)} more of ${items.length}`;
  };
  more.onclick = next;
  next();
};

dlroof.spark = (series) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const [width, height] = [150, 26];
  for (const [key, value] of Object.entries({class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'}))
    svg.setAttribute(key, value);
  const values = series.spark;
  const low = Math.min(...values);
  const high = Math.max(...values, low * 1.02);
  const at = (value, index) => `${(2 + (width - 4) * (values.length < 2 ? 0.5 : index / (values.length - 1))).toFixed(1)},${
      (height - 3 - (height - 6) * (value - low) / (high - low)).toFixed(1)}`;
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  const estimates = series.levels.length === 0;
  if (estimates) svg.classList.add('estimates');
  path.setAttribute(
      'd', estimates || values.length === 1 ? values.map((value, i) => `M${at(value, i)}h1`).join('') : `M${values.map(at).join('L')}`);
  svg.append(path);
  return svg;
};

dlroof.settingText = (series) => [series.threads ? dlroof.threadsText(series.threads) : '', series.cache,
                                  dlroof.machines.length > 1 ? dlroof.machines[series.machine].name : '']
                                     .filter((one) => one)
                                     .join(' · ');

dlroof.listRow = (body, index) => {
  const series = dlroof.series[index];
  const row = dlroof.add(body, 'tr');
  row.dataset.index = index;
  row.setAttribute('aria-selected', String(dlroof.shownSeries === index));
  const name = dlroof.add(row, 'td', 'name');
  const link = dlroof.add(name, 'button', 'link', series.name);
  link.type = 'button';
  dlroof.add(name, 'small', '', dlroof.settingText(series));
  dlroof.add(row, 'td').append(series.spark.length > 0 ? dlroof.spark(series) : '');
  dlroof.add(
      row, 'td', 'number',
      series.last === undefined ? dlroof.text(series.reason) || 'no time' :
                                  dlroof.markOf(series.estimate) + dlroof.scaled(series.last, 's'));
  const change = dlroof.lastChange(series);
  if (change === undefined) dlroof.add(row, 'td', 'number', '');
  else dlroof.addChange(row, 'td', change.ratio);
  dlroof.add(row, 'td', '', change === undefined ? '' : dlroof.dateText(dlroof.runs[change.run]).slice(0, 10));
  dlroof.add(row, 'td', 'number', dlroof.isNumber(series.deviation) ? `${(series.deviation * 100).toFixed(1)} %` : '');
  dlroof.add(row, 'td', 'number', String(series.points));
};

dlroof.orders = {
  name: (a, b) => a - b,
  change: (a, b) => dlroof.rankOf(b, (change) => change.run) - dlroof.rankOf(a, (change) => change.run),
  size: (a, b) =>
      dlroof.rankOf(b, (change) => Math.abs(Math.log(change.ratio))) - dlroof.rankOf(a, (change) => Math.abs(Math.log(change.ratio))),
  noise: (a, b) => (dlroof.series[b].deviation || 0) - (dlroof.series[a].deviation || 0),
  time: (a, b) => (dlroof.series[b].last || 0) - (dlroof.series[a].last || 0),
};
dlroof.rankOf = (index, rank) => {
  const change = dlroof.lastChange(dlroof.series[index]);
  return change === undefined ? -1 : rank(change);
};

dlroof.drawList = () => {
  const words = dlroof.byId('filter-text').value.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const machine = dlroof.byId('filter-machine').value;
  const shown = dlroof.series.map((series, index) => index)
                    .filter((index) => {
                      const series = dlroof.series[index];
                      return (machine === '' || String(series.machine) === machine) &&
                          words.every((word) => series.name.toLowerCase().includes(word));
                    })
                    .sort((a, b) => dlroof.orders[dlroof.byId('sort').value](a, b) || a - b);
  dlroof.byId('shown').textContent = `${shown.length} of ${dlroof.series.length} shown`;
  dlroof.drawRows(dlroof.byId('list-body'), dlroof.byId('list-more'), shown, dlroof.listRow);
};

dlroof.addRunLink = (parent, run) => {
  const link = dlroof.add(parent, 'a', '', 'roofline');
  link.href = `roofline.html?run=${run.id}`;
};

dlroof.runRow = (body, run) => {
  const row = dlroof.add(body, 'tr');
  dlroof.add(row, 'td', '', dlroof.dateText(run));
  dlroof.add(row, 'td', 'mono', dlroof.commitText(run));
  dlroof.add(row, 'td', '', dlroof.text(run.machine));
  dlroof.add(row, 'td', 'number', String(run.points));
  dlroof.addRunLink(dlroof.add(row, 'td'), run);
  dlroof.add(row, 'td', 'note', dlroof.text(run.source));
};

// Groups changes by date, the newest date first, and in it the largest change first.
dlroof.drawChanges = () => {
  const [groupsShown, changesShown] = [6, 8];
  const groups = new Map();
  dlroof.series.forEach((series, index) => {
    for (const change of series.changes) groups.set(change.run, [...(groups.get(change.run) || []), {index, change}]);
  });
  const parent = dlroof.byId('changes');
  const runs = [...groups.keys()].sort((a, b) => b - a);
  if (runs.length === 0) dlroof.add(parent, 'p', 'empty', 'No change of level was found.');
  for (const run of runs.slice(0, groupsShown)) {
    const all = groups.get(run).sort((a, b) => Math.abs(Math.log(b.change.ratio)) - Math.abs(Math.log(a.change.ratio)));
    const slower = all.filter(({change}) => change.ratio > 1).length;
    const group = dlroof.add(parent, 'div', 'group');
    const head = dlroof.add(
        group, 'h3', '',
        `${dlroof.dateText(dlroof.runs[run])} ${dlroof.commitText(dlroof.runs[run])}: ${
                [slower > 0 ? `${slower} slower` : '', all.length > slower ? `${all.length - slower} faster` : '']
                    .filter((one) => one)
                    .join(', ')} `);
    dlroof.addRunLink(head, dlroof.runs[run]);
    const list = dlroof.add(group, 'ul');
    for (const {index, change} of all.slice(0, changesShown)) {
      const item = dlroof.add(list, 'li');
      dlroof.addChange(item, 'span', change.ratio);
      item.append(' ');
      const link = dlroof.add(item, 'button', 'link', dlroof.series[index].name);
      link.type = 'button';
      link.dataset.index = index;
      if (change.why) item.append(`: ${change.why}`);
    }
    if (all.length > changesShown) dlroof.add(list, 'li', '', `and ${all.length - changesShown} more`);
  }
  if (runs.length > groupsShown)
    dlroof.add(parent, 'p', 'facts', `and ${runs.length - groupsShown} earlier dates: sort the benchmarks by their last change`);
};

dlroof.drawIndex = () => {
  dlroof.byId('summary').textContent = `${dlroof.series.length} benchmarks, ${dlroof.runs.length} runs`;
  const [first, last] = [dlroof.runs[0], dlroof.runs[dlroof.runs.length - 1]];
  dlroof.byId('facts').textContent = [
    `${dlroof.dateText(first)} to ${dlroof.dateText(last)}`, ...dlroof.machines.slice(0, 3).map((machine) => machine.name)
  ].filter((one) => one).join(' · ');
  dlroof.fillSelect(
      'filter-machine',
      [['', 'all'], ...dlroof.machines.map((machine, index) => [String(index), `${machine.name} (${machine.fingerprint})`])]);
  dlroof.byId('filter-machine').closest('label').hidden = dlroof.machines.length < 2;
  dlroof.drawAllEvents();
  dlroof.drawChanges();
  dlroof.drawList();
  dlroof.drawRows(dlroof.byId('runs'), dlroof.byId('runs-more'), dlroof.runs.slice().reverse(), dlroof.runRow);
};

dlroof.fillSelect = (id, options) => {
  for (const [value, text] of options) dlroof.add(dlroof.byId(id), 'option', '', text).value = value;
};
