'use strict';
// A row per model: the sum of its layers, and the layers to fix first.
dlroof.models = dlroof.list(dlroof.content.models).map(dlroof.map);

dlroof.modelName = (model) => {
  const parts = ['op', 'device', 'library', 'direction', 'type'].map((key) => model[key]);
  return `${dlroof.text(model.suite)} ${
          [...parts, ...dlroof.list(model.options)].map(dlroof.text).filter((part) => part !== '').join('/')}`;
};

// '53', or '40 of 53' if some have no time.
dlroof.countOfText = (value) => {
  const part = dlroof.map(value);
  return part.measured === part.total ? dlroof.text(part.total) : `${dlroof.text(part.measured)} of ${dlroof.text(part.total)}`;
};

dlroof.roofText = (model) => {
  const roof = dlroof.map(model.roof);
  const all = roof.layers === undefined || roof.layers === dlroof.map(model.layers).measured;
  return `${dlroof.shareText(roof, model.disturbed === true)}${
      all ? '' : ` (${dlroof.text(roof.layers)} layer${roof.layers === 1 ? '' : 's'})`}${roof.given === true ? ' (specified)' : ''}`;
};

// A button with the name of a benchmark, which selects it.
dlroof.addNameButton = (item, name) => {
  const index = dlroof.records.findIndex((record) => dlroof.text(record.name) === name);
  const button = dlroof.add(item, 'button', 'name');
  button.type = 'button';
  dlroof.addBreakable(button, index < 0 ? name : dlroof.shownName(dlroof.records[index]));
  button.title = index >= 0 && dlroof.records[index].short_name ? name : 'Show this benchmark';
  button.disabled = index < 0;
  button.addEventListener('click', () => {
    if (dlroof.state.selected !== name) dlroof.select(index);
    dlroof.byId('selected').scrollIntoView({block: 'nearest'});
  });
};

dlroof.addLayerToFix = (list, layer) => {
  const item = dlroof.add(list, 'li');
  dlroof.addNameButton(item, dlroof.text(layer.name));
  item.append(` ×${dlroof.text(layer.count)}: ${dlroof.percent(layer.share)} of the time, ${
      dlroof.aboveRoofText(layer, false)} of it above the roof`);
};

// The benchmarks with most time above their roofs: the first one, and the others folded.
dlroof.drawOpportunities = () => {
  const all = dlroof.list(dlroof.content.opportunities).map(dlroof.map);
  dlroof.byId('won-section').hidden = all.length === 0;
  dlroof.byId('won-more').hidden = all.length < 2;
  dlroof.byId('won-more').firstElementChild.textContent = `${all.length - 1} more`;
  all.forEach((one, i) => {
    const record = dlroof.records[one.record];
    const item = dlroof.add(dlroof.byId(i === 0 ? 'won' : 'won-rest'), 'li');
    dlroof.addNameButton(item, dlroof.text(record.name));
    item.append(
        `${one.count > 1 ? ` ×${one.count}` : ''}: ${dlroof.aboveRoofText(one, dlroof.isNoisy(record))} of ${
            dlroof.scaled(one.seconds, 's')} above its roof ` +
        `(${dlroof.slowdownText(record.time, dlroof.isNoisy(record))}), bound by ${dlroof.boundText(record)}. `);
    dlroof.add(item, 'span', 'who', dlroof.text(record.advice));
  });
};

dlroof.modelColumns = [
  ['Layers', (model) => dlroof.countOfText(model.layers)],
  ['Calls', (model) => dlroof.countOfText(model.calls)],
  ['Time', (model) => (model.disturbed ? '~' : '') + dlroof.scaled(model.seconds, 's')],
  ['FLOP', (model) => dlroof.scaled(model.flops, 'FLOP')],
  ['FLOP/s', (model) => dlroof.scaled(model.flops_per_second, 'FLOP/s')],
  ['% of roof', dlroof.roofText],
];

dlroof.drawModels = () => {
  dlroof.byId('models-section').hidden = dlroof.models.length === 0;
  const head = dlroof.byId('models-head');
  for (const [text, kind] of [['Model', ''], ...dlroof.modelColumns.map(([title]) => [title, 'number']), ['Fix first', '']])
    dlroof.add(head, 'th', kind, text).scope = 'col';
  for (const model of dlroof.models) {
    const row = dlroof.add(dlroof.byId('models-body'), 'tr');
    dlroof.addBreakable(dlroof.add(row, 'td', 'name'), dlroof.modelName(model));
    for (const [title, show] of dlroof.modelColumns) {
      const text = show(model);
      const cell = dlroof.add(row, 'td', 'number', text);
      if (text !== '') cell.dataset.label = title;
    }
    const layers = dlroof.list(model.fix_first).map(dlroof.map);
    const cell = dlroof.add(row, 'td', 'fix');
    if (layers.length === 0) continue;
    cell.dataset.label = 'Fix first';
    const list = dlroof.add(cell, 'ol');
    for (const layer of layers) dlroof.addLayerToFix(list, layer);
  }
};
