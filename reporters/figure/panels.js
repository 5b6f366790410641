'use strict';
// The header, the legend, the panel of the selected benchmark, zero-FLOP kernels and findings.
dlroof.pair = (list, term, text) => {
  if (text === '') return;
  dlroof.add(list, 'dt', '', term);
  dlroof.add(list, 'dd', '', text);
};

dlroof.drawHeader = () => {
  const context = dlroof.map(dlroof.content.context);
  const ours = dlroof.map(context.dlroof);
  const machines = dlroof.list(dlroof.content.machines).map(dlroof.map);
  const name = machines.map((machine) => dlroof.text(machine.name)).filter((one) => one !== '').join(' + ') ||
      dlroof.text(context.host_name) || 'benchmarks';
  dlroof.byId('title').textContent = name;
  document.title = `${name} · dlroof`;
  const counts = new Map();
  for (const record of dlroof.records) counts.set(dlroof.text(record.status), (counts.get(dlroof.text(record.status)) || 0) + 1);
  const parts =
      ['ok', 'unsupported', 'failed', 'wrong'].filter((status) => counts.has(status)).map((status) => `${counts.get(status)} ${status}`);
  dlroof.byId('summary').textContent =
      `${dlroof.records.length} benchmark${dlroof.records.length === 1 ? '' : 's'}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
  const threads = [
    ...new Set(dlroof.records.filter((record) => record.device !== 'gpu')
                   .map((record) => record.threads)
                   .filter((one) => dlroof.isNumber(one) && one > 0))
  ].sort((a, b) => a - b);
  dlroof.byId('facts').textContent = [
    dlroof.text(context.date).replace('T', ' '),
    threads.length > 0 ? `${threads.join(', ')} thread${threads.join() === '1' ? '' : 's'}` : '', dlroof.text(context.host_name),
    ours.version ? `dlroof ${dlroof.text(ours.version)}` : '',
    ...Object.entries(dlroof.map(ours.libraries)).map(([key, value]) => `${key} ${dlroof.text(value)}`)
  ].filter((part) => part !== '').join(' · ');
  const origin = dlroof.byId('origin');
  dlroof.pair(origin, 'command', dlroof.text(ours.command) || dlroof.text(context.executable));
  dlroof.pair(origin, 'commit', dlroof.text(ours.commit));
  for (const [key, value] of Object.entries(dlroof.map(ours.conventions)))
    dlroof.pair(origin, key, typeof value === 'string' ? value : JSON.stringify(value));
  for (const key of ['library_build_type', 'library_version', 'num_cpus', 'mhz_per_cpu', 'cpu_scaling_enabled', 'aslr_enabled']) {
    if (context[key] !== undefined) dlroof.pair(origin, key.replaceAll('_', ' '), String(context[key]));
  }
};

dlroof.symbolPicture = (symbol, colour) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('width', '12');
  svg.setAttribute('height', '12');
  svg.setAttribute('viewBox', '-6 -6 12 12');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  const hollow = symbol.endsWith('-open');
  const shapes = {
    circle: 'M4,0A4,4 0 1,1 -4,0A4,4 0 1,1 4,0Z',
    square: 'M-4,-4H4V4H-4Z',
    diamond: 'M0,-5L5,0L0,5L-5,0Z',
    'triangle-up': 'M0,-5L5,4H-5Z',
    pentagon: 'M0,-5L4.8,-1.5L3,4H-3L-4.8,-1.5Z',
    hexagon: 'M2.5,-4.5L5,0L2.5,4.5H-2.5L-5,0L-2.5,-4.5Z',
    cross: 'M-1.5,-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z'
  };
  path.setAttribute('d', shapes[symbol.replace('-open', '')]);
  path.setAttribute('fill', hollow ? 'none' : colour);
  path.setAttribute('stroke', colour);
  path.setAttribute('stroke-width', '1.6');
  svg.append(path);
  return svg;
};

dlroof.drawLegend = (changed) => {
  const legend = dlroof.byId('legend');
  legend.replaceChildren();
  const placed = dlroof.records.filter((record) => record.classic || record.time);
  const entry = (text, symbol, colour, values) => {
    const button = dlroof.add(legend, 'button');
    button.type = 'button';
    button.title = `Show only ${text}`;
    button.append(dlroof.symbolPicture(symbol, colour), text);
    button.addEventListener('click', () => {
      Object.assign(dlroof.state, values);
      dlroof.showFilters();
      changed();
    });
  };
  for (const name of dlroof.seriesNames) {
    const record = placed.find((one) => dlroof.seriesOf(one) === name);
    if (!dlroof.byLevels() && name !== '')
      entry(name, 'circle', dlroof.colour(record), {
        ...(dlroof.labelOf(record) === '' ? {op: dlroof.text(record.op), direction: dlroof.text(record.direction)} : {}),
        ...(dlroof.manyLibraries ? {library: dlroof.text(record.library)} : {})
      });
  }
  if (dlroof.byLevels())
    for (const level of dlroof.currentLevels()) entry(dlroof.levelName(level), 'circle', dlroof.markColour({}, level), {level});
  for (const type of [...new Set(placed.map((record) => dlroof.text(record.type)))].sort()) {
    if (type !== '') entry(type, dlroof.symbol({type}, false), dlroof.palette().soft, {type});
  }
};

dlroof.figure = (parent, label, text) => {
  if (text === '') return;
  const box = dlroof.add(parent, 'div');
  dlroof.add(box, 'span', '', label);
  box.append(text);
};

dlroof.workText = (record) =>
    Object.entries(dlroof.map(record.work))
        .flatMap(
            ([from, work]) =>
                [...Object.entries(dlroof.map(dlroof.map(work).flops))
                     .map(([pipe, flops]) => `${dlroof.scaled(flops, 'FLOP')} ${pipe} (${from})`),
                 ...Object.entries(dlroof.map(dlroof.map(work).parts))
                     .map(([part, flops]) => `including ${part} ${dlroof.scaled(flops, 'FLOP')}`),
                 ...dlroof.byLevel(dlroof.map(work).bytes)
                     .map(([level, bytes]) => `${dlroof.scaled(bytes, 'B')} ${dlroof.levelName(level)} (${from})`)])
        .join(', ');

// The time breakdown as bars, from the roof's time to the measured time.
dlroof.drawBreakdown = (panel, time) => {
  const parts = dlroof.list(time.parts).map(dlroof.map).filter((part) => dlroof.isNumber(part.seconds));
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  if (!(whole > 0)) return;
  const table = dlroof.add(panel, 'table', 'breakdown');
  dlroof.add(table, 'caption', '', 'time breakdown');
  let before = 0;
  for (const part of parts) {
    const row = dlroof.add(table, 'tr', part.part === 'unexplained' ? 'unexplained' : '');
    dlroof.add(row, 'th', '', dlroof.text(part.part).replaceAll('_', ' '));
    const bar = dlroof.add(dlroof.add(row, 'td', 'bar'), 'span');
    bar.style.marginLeft = `${(100 * before) / whole}%`;
    bar.style.width = `${(100 * part.seconds) / whole}%`;
    dlroof.add(row, 'td', 'number', dlroof.scaled(part.seconds, 's'));
    dlroof.add(row, 'td', 'number', dlroof.percent(part.seconds / whole));
    const range = dlroof.list(part.ci95).filter(dlroof.isNumber).map((seconds) => ((100 * seconds) / whole).toFixed(0));
    dlroof.add(row, 'td', 'number', range.length === 2 ? `${range.join('..')} %` : '');
    dlroof.add(row, 'td', '', [dlroof.text(part.provenance), dlroof.text(part.how)].filter((one) => one !== '').join(': '));
    before += part.seconds;
  }
};

// Energy of a call by counters, measured in a pass of its own.
dlroof.drawEnergy = (figures, energy) => {
  if (!dlroof.isNumber(energy.joules)) return;
  const domains = (some, mark) => Object.entries(dlroof.map(some)).map(([name, joules]) => `${name} ${dlroof.scaled(joules, 'J')}${mark}`);
  const others = dlroof.isNumber(energy.others_cpus) && energy.others_cpus > 0.1;  // as energy::HasOthersEnergy
  dlroof.figure(figures, 'energy of a call', `${others ? '~' : ''}${dlroof.scaled(energy.joules, 'J')}`);
  dlroof.figure(figures, '95 % interval of the energy', dlroof.interval(energy.ci95, 'J'));
  dlroof.figure(figures, 'mean power', dlroof.isNumber(energy.seconds) ? dlroof.scaled(energy.joules / energy.seconds, 'W') : '');
  dlroof.figure(figures, 'energy by domain', [...domains(energy.domains, ''), ...domains(energy.beside, ' (not added)')].join(', '));
  dlroof.figure(figures, `energy counted by ${dlroof.text(energy.from)}`, dlroof.text(energy.covers));
};

dlroof.drawSelected = () => {
  const panel = dlroof.byId('selected');
  panel.replaceChildren();
  const record = dlroof.state.selected === '' ? undefined : dlroof.records.find((one) => dlroof.text(one.name) === dlroof.state.selected);
  panel.classList.toggle('hint', record === undefined);
  if (record === undefined) {
    dlroof.add(
        panel, 'p', 'hint', 'Select a point or a row to see the details of a benchmark. Drag in a chart to zoom, double-click to reset.');
    return;
  }
  const head = dlroof.add(panel, 'p', 'head');
  dlroof.add(head, 'span', 'name', dlroof.text(record.name));
  dlroof.add(head, 'span', `badge ${dlroof.text(record.status)}`, dlroof.text(record.status));
  const link = dlroof.add(head, 'a', 'permalink', 'link to this benchmark');
  link.setAttribute('href', `#${new URLSearchParams({selected: dlroof.text(record.name)})}`);
  const figures = dlroof.add(panel, 'div', 'figures');
  const time = dlroof.map(record.time);
  const before = dlroof.map(dlroof.before[dlroof.records.indexOf(record)]);
  dlroof.figure(figures, 'median time before', dlroof.scaled(dlroof.map(before.seconds).median, 's'));
  dlroof.figure(figures, 'median time', dlroof.marked(record, dlroof.scaled(dlroof.map(record.seconds).median, 's')));
  dlroof.figure(figures, '95 % interval', dlroof.interval(dlroof.map(record.seconds).ci95, 's'));
  const fastest = dlroof.map(record.seconds).fastest_measured;
  dlroof.figure(figures, 'fastest repetition (the estimate is CPU time)', dlroof.isNumber(fastest) ? dlroof.scaled(fastest, 's') : '');
  dlroof.figure(figures, 'clean repetitions', dlroof.repetitions(record));
  dlroof.drawEnergy(figures, dlroof.map(record.energy));
  for (const entry of dlroof.list(record.classic)) {
    dlroof.figure(figures, `${dlroof.levelName(entry.level)}: intensity`, `${dlroof.digits(entry.intensity)} FLOP/byte`);
    dlroof.figure(
        figures, `${dlroof.levelName(entry.level)}: of its roof`,
        `${dlroof.shareText(entry, false)} of ${dlroof.scaled(entry.roof, 'FLOP/s')}${
            dlroof.isNumber(entry.fraction) ?
                '' :
                ', not validated'}${dlroof.map(record.time).given === true ? `, ${dlroof.specifiedText}` : ''}`);
  }
  const rates = dlroof.ratesOf(record);
  if (dlroof.isNumber(rates.intensity) && !dlroof.list(record.classic).some((entry) => entry.level === rates.level))
    dlroof.figure(figures, `${dlroof.levelName(rates.level)}: intensity`, `${dlroof.digits(rates.intensity)} FLOP/byte`);
  dlroof.figure(figures, 'performance', dlroof.scaled(rates.flops_per_second, 'FLOP/s'));
  dlroof.figure(figures, 'bound by', dlroof.boundText(record));
  dlroof.figure(figures, '× roof', dlroof.slowdownText(time, dlroof.isNoisy(record)));
  dlroof.figure(figures, 'compute time at its roof', dlroof.scaled(time.compute_seconds, 's'));
  for (const [pipe, seconds] of Object.entries(dlroof.map(time.pipe_seconds)))
    dlroof.figure(figures, `${pipe} time at its own roof`, dlroof.scaled(seconds, 's'));
  for (const [level, seconds] of dlroof.byLevel(time.memory_seconds))
    dlroof.figure(figures, `${dlroof.levelName(level)} time at its roof`, dlroof.scaled(seconds, 's'));
  dlroof.figure(figures, 'launch overhead', dlroof.scaled(time.overhead_seconds, 's'));
  for (const [ceiling, reason] of Object.entries(dlroof.map(record.limited_by)))
    dlroof.add(
        panel, 'p', 'advice',
        `≤ and ≥ are limits: the ${dlroof.levelName(ceiling)} ceiling is not validated, and may be higher: ${dlroof.text(reason)}`);
  for (const text of [record.reason, ...dlroof.list(record.remarks), ...dlroof.list(record.asides), record.advice])
    if (dlroof.text(text) !== '') dlroof.add(panel, 'p', 'advice', dlroof.text(text));
  dlroof.drawBreakdown(panel, time);
  const more = dlroof.add(panel, 'dl', 'pairs');
  dlroof.pair(more, 'algorithm', dlroof.algorithm(record));
  dlroof.pair(more, 'verified', dlroof.text(record.verified));
  dlroof.pair(more, 'work', dlroof.workText(record));
  dlroof.pair(
      more, 'judged by',
      Object.entries(dlroof.map(time.compute_roofs))
          .filter(([, row]) => dlroof.text(row) !== '')
          .map(([pipe, row]) => (pipe === row ? pipe : `${dlroof.text(row)} for ${pipe}`))
          .join(', '));
  dlroof.pair(more, 'ran with', [
    record.device !== 'gpu' && dlroof.isNumber(record.threads) && record.threads > 0 ? `threads ${record.threads}` : '',
    dlroof.text(record.cache) && `${record.cache} cache`, dlroof.isNumber(record.seed) ? `seed ${record.seed}` : ''
  ].filter((part) => part).join(', '));
};

// Zero-FLOP kernels: a row per set.
dlroof.drawZeroFlopKernels = () => {
  const sets = dlroof.list(dlroof.content.census).map(dlroof.map);
  dlroof.byId('zero-flop-section').hidden = sets.length === 0;
  const columns = [
    ['Names', (one) => `${dlroof.text(one.zero_flop_kernels)} of ${dlroof.text(one.kernels)}`],
    [
      'Launches',
      (one) =>
          (dlroof.isNumber(one.launches) && dlroof.isNumber(one.zero_flop_launches) ? `${one.zero_flop_launches} of ${one.launches}` : '')
    ],
    ['Of launches', (one) => dlroof.percent(one.zero_flop_launch_share)], ['Of time', (one) => dlroof.percent(one.zero_flop_time_share)],
    ['Time of all', (one) => dlroof.scaled(one.seconds, 's')], ['FLOP', (one) => dlroof.scaled(one.flops, 'FLOP')],
    ['By matrix units', (one) => dlroof.percent(one.matrix_share)], ['FLOP/s', (one) => dlroof.scaled(one.flops_per_second, 'FLOP/s')]
  ];
  for (const [text, kind] of [['Set', ''], ...columns.map(([title]) => [title, 'number'])])
    dlroof.add(dlroof.byId('zero-flop-head'), 'th', kind, text).scope = 'col';
  for (const one of sets) {
    const row = dlroof.add(dlroof.byId('zero-flop-body'), 'tr');
    dlroof.add(row, 'td', 'name', dlroof.text(one.set) || 'all');
    for (const [title, show] of columns) {
      const cell = dlroof.add(row, 'td', 'number', show(one));
      if (cell.textContent !== '') cell.dataset.label = title;
    }
  }
};

dlroof.drawFindings = () => {
  const list = dlroof.byId('findings');
  const found = [];
  for (const record of dlroof.records) {
    if (record.status !== 'ok') found.push([`${dlroof.text(record.status)}: ${dlroof.text(record.reason) || 'no reason stored'}`, record]);
    else
      for (const text of [record.reason, ...dlroof.list(record.remarks)])
        if (dlroof.text(text) !== '') found.push([dlroof.text(text), record]);
  }
  const grouped = new Map();
  for (const [text, record] of found) grouped.set(text, [...(grouped.get(text) || []), record]);
  dlroof.byId('findings-section').hidden = grouped.size === 0;
  const entries = [...grouped];
  for (const [text, records] of entries.slice(0, 50)) {
    const item = dlroof.add(list, 'li', '', `${text} `);
    const types = [...new Set(records.map((record) => dlroof.text(record.type)))].filter((type) => type !== '');
    const count = records[0].status === 'ok' ? `${dlroof.text(records[0].name)} and ${records.length - 1} more` :
                                               `${types.join(', ')}${types.length > 0 ? ': ' : ''}${records.length} benchmarks`;
    dlroof.add(item, 'span', 'who name', records.length === 1 ? dlroof.text(records[0].name) : count);
  }
  if (entries.length > 50) dlroof.add(list, 'li', '', `${entries.length - 50} more are in the last column of the table.`);
};
