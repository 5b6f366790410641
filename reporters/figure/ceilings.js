'use strict';
// Tables of each machine: ceilings with their validation, overheads, access mixes, facts.

// The numbers of a ceiling's validation that are known: '2.003× for twice the work · spread 0.400 %'.
dlroof.validationNumbers = (ceiling, work) => {
  const proof = dlroof.map(ceiling.proof);
  const parts = [];
  const add = (value, text) => {
    if (dlroof.isNumber(value)) parts.push(text(value));
  };
  add(proof.doubling, (value) => `${value.toFixed(3)}× for twice the work`);
  add(proof.spread, (value) => `spread ${dlroof.percent(value)}`);
  add(proof.per_cycle,
      (value) => `${dlroof.digits(value)}${
          dlroof.isNumber(proof.per_cycle_expected) ? ` of ${Number(proof.per_cycle_expected.toPrecision(4))}` : ''} ${work}/cycle`);
  add(proof.clean, (value) => `${dlroof.percent(value)} clean`);
  add(proof.scaling, (value) => `scaling ${value.toFixed(2)}`);
  return parts.join(' · ');
};

// A summary line, with the details folded below it. The reason comes first if the ceiling is not validated.
dlroof.addValidation = (cell, ceiling, work) => {
  const validated = ceiling.proved === true;
  const specified = ceiling.given === true;
  const reason = validated || specified ? '' : dlroof.list(ceiling.reasons).map(dlroof.text).join('; ');
  const texts =
      [reason, dlroof.validationNumbers(ceiling, work), dlroof.text(dlroof.map(ceiling.proof).result)].filter((text) => text !== '');
  const parent = texts.length > 1 ? dlroof.add(cell, 'details') : cell;
  const line = dlroof.add(texts.length > 1 ? dlroof.add(parent, 'summary') : cell, 'div', texts.length > 1 ? 'clamp' : '');
  dlroof.add(
      line, 'span', `badge ${validated ? 'ok' : 'caution'}`,
      `${
          validated     ? 'validated' :
              specified ? dlroof.specifiedText :
                          'not validated'}${texts.length > 0 ? ': ' : ''}`);
  if (texts.length > 0) line.append(texts[0]);
  for (const text of texts.slice(1)) dlroof.add(parent, 'p', '', text);
};

// The group with the fastest row comes first; in a group the plain row precedes its finer rows: 'fp32.vector', 'fp32.vector.avx2'.
dlroof.ceilingRows = (ceilings, groupOf) => {
  const rows = Object.entries(dlroof.map(ceilings)).filter(([, ceiling]) => dlroof.isNumber(dlroof.map(ceiling).per_second));
  const fastest = new Map();
  for (const [key, ceiling] of rows) fastest.set(groupOf(key), Math.max(ceiling.per_second, fastest.get(groupOf(key)) || 0));
  const groups = [...fastest.keys()].sort((a, b) => fastest.get(b) - fastest.get(a));
  return rows.sort(
      ([a, one], [b, other]) => groups.indexOf(groupOf(a)) - groups.indexOf(groupOf(b)) ||
          Number(groupOf(a) !== a) - Number(groupOf(b) !== b) || other.per_second - one.per_second);
};

// A note for threads that reach less than 90 % of the single-threaded rate.
dlroof.scalingText = (ceiling) => {
  const {scaling} = dlroof.map(ceiling.proof);
  return dlroof.isNumber(scaling) && scaling < 0.9 && ceiling.threads > 1 ?
      `; each of ${ceiling.threads} threads reaches ${dlroof.percent(scaling)} of the single-threaded rate` :
      '';
};

// `kind`: title of the first column, unit of the rates, work per cycle, group of a key, and the number of threads that need not be shown.
dlroof.addCeilings = (parent, ceilings, kind) => {
  const rows = dlroof.ceilingRows(ceilings, kind.groupOf);
  if (rows.length === 0) return;
  const burst = rows.some(([, ceiling]) => dlroof.isNumber(ceiling.sustained_per_second));
  const columns = [
    [burst ? 'Burst' : 'Value', (ceiling) => dlroof.scaled(ceiling.per_second, kind.unit)],
    ['Sustained', (ceiling) => dlroof.scaled(ceiling.sustained_per_second, kind.unit)],
    ['95 % interval', (ceiling) => dlroof.interval(ceiling.ci95, kind.unit)],
    ['Threads', (ceiling) => (dlroof.text(ceiling.threads) === kind.threads ? '' : dlroof.text(ceiling.threads))],
    [
      'With write-allocate',
      (ceiling) => (ceiling.moved_per_named > 1 ? dlroof.scaled(ceiling.per_second * ceiling.moved_per_named, kind.unit) : '')
    ],
    ['Clock', (ceiling) => dlroof.scaled(ceiling.clock_hz, 'Hz')]
  ].filter(([, show]) => rows.some(([, ceiling]) => show(ceiling) !== ''));
  const table = dlroof.add(dlroof.add(parent, 'div', 'scroll'), 'table', `ceilings ${kind.work}`);
  const head = dlroof.add(dlroof.add(table, 'thead'), 'tr');
  for (const [text, align] of [[kind.title, ''], ...columns.map(([title]) => [title, 'number']), ['Validation', ''], ['How', '']])
    dlroof.add(head, 'th', align, text).scope = 'col';
  const body = dlroof.add(table, 'tbody');
  for (const [key, ceiling] of rows) {
    const row = dlroof.add(body, 'tr');
    dlroof.add(
        row, 'td', kind.groupOf(key) !== key && Object.hasOwn(dlroof.map(ceilings), kind.groupOf(key)) ? 'name finer' : 'name',
        dlroof.levelName(key));
    for (const [title, show] of columns) {
      const cell = dlroof.add(row, 'td', 'number', show(ceiling));
      if (cell.textContent !== '') cell.dataset.label = title;
    }
    dlroof.addValidation(dlroof.add(row, 'td', 'validation'), ceiling, kind.work);
    const how = dlroof.add(row, 'td', 'note how');
    if (dlroof.text(ceiling.how) !== '')
      dlroof.add(how, 'div', row.querySelector('details') === null ? '' : 'clamp', dlroof.text(ceiling.how) + dlroof.scalingText(ceiling));
  }
};

// Overheads with the way they were measured, and the reasons for missing ceilings.
dlroof.addOverheads = (parent, set) => {
  const list = dlroof.add(parent, 'dl', 'pairs');
  const add = (name, key, seconds) => {
    const how = dlroof.text(dlroof.map(set.costs_how)[key]);
    if (dlroof.isNumber(seconds)) dlroof.pair(list, name, `${dlroof.scaled(seconds, 's')}${how === '' ? '' : ` · ${how}`}`);
  };
  add('launch of one primitive', 'launch', set.launch_seconds);
  for (const [key, seconds] of Object.entries(dlroof.map(set.overheads))) add(key, key, seconds);
  for (const [key, text] of Object.entries(dlroof.map(set.absent)))
    dlroof.pair(list, dlroof.levelName(key), `not measured: ${dlroof.text(text)}`);
  if (list.children.length === 0) list.remove();
};

dlroof.addSet = (parent, set, threads) => {
  const level = {title: 'Memory', unit: 'B/s', work: 'byte', groupOf: (key) => key, threads};
  dlroof.addCeilings(
      parent, set.flops,
      {title: 'Arithmetic', unit: 'FLOP/s', work: 'flop', groupOf: (key) => key.split('.').slice(0, 2).join('.'), threads});
  dlroof.addCeilings(parent, set.bytes, level);
  const mixes = Object.keys(dlroof.map(set.mixes)).length;
  if (mixes > 0) {
    const more = dlroof.add(parent, 'details', 'mixes');
    dlroof.add(more, 'summary', '', `All ${mixes} access mixes; the best of a level is its roof`);
    dlroof.addCeilings(more, set.mixes, {...level, title: 'Mix', groupOf: (key) => key.split('.')[0]});
  }
  dlroof.addOverheads(parent, set);
};

// The facts of the machine and the remarks of each set, sorted by key.
dlroof.addFacts = (parent, machine) => {
  const entries = Object.entries(dlroof.map(machine.facts));
  for (const [threads, set] of Object.entries(dlroof.map(machine.by_threads)).map(([key, value]) => [key, dlroof.map(value)])) {
    const add = (before, remarks, textOf, after) => {
      for (const [key, remark] of Object.entries(dlroof.map(remarks))) entries.push([`${before}${key}${after}`, textOf(remark)]);
    };
    entries.push([`effort.${threads}`, set.effort]);
    add('absent.', set.absent, dlroof.text, `.threads.${threads}`);
    add('', set.costs_how, dlroof.text, `.threads.${threads}`);
    add('sweep.', set.edges, (edge) => dlroof.map(edge).text, `.threads.${threads}`);
    add('sustained.', set.sustained, dlroof.text, '');
  }
  dlroof.addFactList(parent, entries.filter(([, text]) => dlroof.text(text) !== '').sort(([a], [b]) => (a < b ? -1 : 1)));
};

dlroof.addFactList = (parent, entries) => {
  if (entries.length === 0) return;
  const details = dlroof.add(parent, 'details', 'printed');
  dlroof.add(details, 'summary', '', `${entries.length} fact${entries.length === 1 ? '' : 's'} about this machine and its measurement`);
  const list = dlroof.add(details, 'dl', 'pairs');
  for (const [key, text] of entries) dlroof.pair(list, key, dlroof.text(text));
};

dlroof.drawMachines = () => {
  const parent = dlroof.byId('machines');
  for (const machine of dlroof.list(dlroof.content.machines).map(dlroof.map)) {
    const facts = dlroof.map(machine.facts);
    dlroof.add(parent, 'p', 'facts', [
      `${dlroof.text(machine.device)}: ${dlroof.text(machine.name)}`,
      dlroof.text(machine.measured_at) && `measured ${dlroof.text(machine.measured_at)}`,
      machine.fingerprint && `fingerprint ${dlroof.text(machine.fingerprint)}`,
      ...dlroof.byLevel(machine.cache_bytes).map(([level, bytes]) => `${dlroof.levelName(level)} ${dlroof.capacity(bytes)}`)
    ].filter((part) => part).join(' · '));
    if (dlroof.text(facts.live_check) !== '') dlroof.add(parent, 'p', 'facts', `Checked before the run: ${facts.live_check}`);
    dlroof.addFacts(parent, machine);
    dlroof.addSweep(parent, machine);
    const sets = Object.entries(dlroof.map(machine.by_threads)).sort((a, b) => Number(b[0]) - Number(a[0]));
    for (const [threads, set] of sets) {
      const part = dlroof.add(parent, 'details', 'set');
      part.open = threads === sets[0][0];
      dlroof.add(
          dlroof.add(part, 'summary'), 'h3', '', dlroof.text(machine.device) === 'gpu' ? 'all of the GPU' : dlroof.threadsText(threads));
      dlroof.addSet(part, dlroof.map(set), threads);
    }
    if (sets.length === 0) dlroof.addSet(parent, machine, '');
  }
  if (parent.children.length === 0) dlroof.add(parent, 'p', 'facts', 'No ceilings in this file.');
};
