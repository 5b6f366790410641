'use strict';
// The filter. Its state is part of the address, so that a link shows the same records.
dlroof.records = dlroof.list(dlroof.content.records).map(dlroof.map);
dlroof.roofs = dlroof.list(dlroof.content.roofs);
dlroof.state = {
  text: '',
  op: '',
  direction: '',
  type: '',
  library: '',
  status: '',
  pipe: '',
  sweep: '',
  level: '',
  roofs: '',
  every: '',
  sort: '',
  selected: ''
};
dlroof.fields = ['op', 'library', 'direction', 'type'];

dlroof.readAddress = () => {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(dlroof.state)) dlroof.state[key] = found.get(key) || '';
};

dlroof.writeAddress = () => {
  const set = Object.entries(dlroof.state).filter(([, value]) => value !== '');
  const text = new URLSearchParams(set).toString();
  history.replaceState(null, '', text === '' ? location.pathname + location.search : `#${text}`);
};

// The roofs that are drawn; undefined in a file without machines.
dlroof.currentRoofs = () => {
  const chosen = dlroof.state.roofs === '' ? dlroof.content.main_roofs : Number(dlroof.state.roofs);
  return dlroof.roofs[chosen] || dlroof.roofs[0];
};

// Levels whose points are drawn.
dlroof.currentLevels = () => {
  const roofs = dlroof.currentRoofs();
  if (roofs === undefined) return [];
  if (dlroof.state.level === 'all') return roofs.bytes.map((roof) => roof.key);
  return [dlroof.state.level || roofs.level || 'dram'];
};

// The level at which a record is drawn for the chosen one. For the main level that is the record's farthest where it has no bytes of
// it: of a warm call, the cache that holds its tensors.
dlroof.levelOf = (record, level) => {
  const known = dlroof.list(record.classic).map((entry) => entry.level);
  const exact = dlroof.state.level === 'all' || known.includes(level) || level !== dlroof.currentRoofs().level || known.length === 0;
  return exact ? level : Object.keys(dlroof.levelNames).filter((one) => known.includes(one)).pop();
};

dlroof.levelsText = (points) => dlroof.currentLevels().map(dlroof.levelName).join(', ') +
    (points.some((p) => !dlroof.currentLevels().includes(p.level)) ? ' or the cache that holds the tensors' : '');

dlroof.searchable = dlroof.records.map(
    (record) => [record.name, dlroof.algorithm(record), record.reason, record.status, ...dlroof.list(record.remarks),
                 ...dlroof.list(record.asides)]
                    .map(dlroof.text)
                    .join('\n')
                    .toLowerCase());

// The pipes that executed the FLOPs of a record.
dlroof.pipesOf = (record) => [...new Set(
    Object.values(dlroof.map(record.work))
        .flatMap((work) => Object.entries(dlroof.map(dlroof.map(work).flops)).filter(([, flops]) => flops > 0).map(([pipe]) => pipe)))];

dlroof.statuses = ['ok', 'unsupported', 'failed', 'wrong'].filter((status) => dlroof.records.some((record) => record.status === status));

// The findings list unsupported benchmarks by reason; the table shows them only if the status filter asks for them.
dlroof.hasStatus = (record) =>
    (dlroof.state.status === '' ? dlroof.statuses.length < 2 || record.status !== 'unsupported' :
                                  ['all', record.status].includes(dlroof.state.status));

dlroof.filtered = () => {
  const swept = dlroof.sweptRecords();
  const words = dlroof.state.text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const shown = [];
  dlroof.records.forEach((record, index) => {
    if (dlroof.fields.some((field) => dlroof.state[field] !== '' && record[field] !== dlroof.state[field])) return;
    if (!dlroof.hasStatus(record)) return;
    if (dlroof.state.pipe !== '' && !dlroof.pipesOf(record).includes(dlroof.state.pipe)) return;
    if (swept !== undefined && !swept.has(index)) return;
    if (words.every((word) => dlroof.searchable[index].includes(word))) shown.push(index);
  });
  return shown;
};

// Whether a record belongs to the drawn roofs: same device, same number of threads.
dlroof.onRoofs = (record) => {
  const roofs = dlroof.currentRoofs();
  return roofs !== undefined && record.device === roofs.device && (!record.threads || record.threads === roofs.threads);
};

dlroof.fillSelect = (id, options) => {
  const select = dlroof.byId(id);
  select.replaceChildren();
  for (const [value, text] of options) dlroof.add(select, 'option', '', text).value = value;
  select.closest('label').hidden = options.length < 2;
};

dlroof.fillFilters = () => {
  for (const field of dlroof.fields) {
    const values = [...new Set(dlroof.records.map((record) => dlroof.text(record[field])))].filter((value) => value !== '').sort();
    dlroof.fillSelect(`filter-${field}`, [['', 'all'], ...values.map((value) => [value, value])]);
  }
  const usual = dlroof.statuses.includes('unsupported') ? [['', 'supported'], ['all', 'all']] : [['', 'all']];
  dlroof.fillSelect('filter-status', dlroof.statuses.length > 1 ? [...usual, ...dlroof.statuses.map((status) => [status, status])] : []);
  const known = new Set(dlroof.records.flatMap((record) => dlroof.list(record.classic).map((entry) => entry.level)));
  for (const roofs of dlroof.roofs)
    if (roofs.level) known.add(roofs.level);
  const levels = Object.keys(dlroof.levelNames).filter((level) => known.has(level));
  dlroof.fillSelect(
      'filter-level', [...levels.map((level) => [level, dlroof.levelName(level)]), ...(levels.length > 1 ? [['all', 'all levels']] : [])]);
  const pipes = [...new Set(dlroof.records.flatMap(dlroof.pipesOf))].sort();
  dlroof.fillSelect('filter-pipe', pipes.length > 1 ? [['', 'all'], ...pipes.map((pipe) => [pipe, pipe])] : []);
  dlroof.fillSelect(
      'filter-sweep', dlroof.parameters.length > 0 ? [['', 'none'], ...dlroof.parameters.map((sweep) => [sweep.name, sweep.name])] : []);
  dlroof.fillSelect('filter-roofs', dlroof.roofs.map((roofs, index) => [String(index), dlroof.roofsName(roofs)]));
};

// The roofs of a GPU are those of the whole device. Imported roofs may have no number of threads.
dlroof.roofsName = (roofs) => {
  const threads = roofs.device !== 'gpu' && roofs.threads > 0 ? dlroof.threadsText(roofs.threads) : '';
  const devices = new Set(dlroof.roofs.map((one) => one.device));
  if (devices.size > 1) return [roofs.device, threads].filter((part) => part !== '').join(', ');
  return threads || roofs.machine || roofs.device;
};

dlroof.showFilters = () => {
  for (const key of ['text', 'status', 'pipe', 'sweep', ...dlroof.fields]) dlroof.byId(`filter-${key}`).value = dlroof.state[key];
  dlroof.byId('filter-every').checked = dlroof.state.every !== '';
  const roofs = dlroof.currentRoofs();
  dlroof.byId('filter-roofs').value = String(dlroof.roofs.indexOf(roofs));
  dlroof.byId('filter-level').value = dlroof.state.level || (roofs && roofs.level) || '';
};

dlroof.watchFilters = (changed) => {
  let timer = 0;
  for (const key of ['text', ...dlroof.fields, 'status', 'pipe', 'sweep', 'level', 'roofs', 'every']) {
    const input = dlroof.byId(`filter-${key}`);
    input.addEventListener('input', () => {
      dlroof.state[key] = input.type === 'checkbox' ? (input.checked ? '1' : '') : input.value;
      clearTimeout(timer);
      timer = setTimeout(changed, key === 'text' ? 150 : 0);
    });
  }
  dlroof.byId('filters').addEventListener('submit', (event) => event.preventDefault());
  dlroof.byId('filters').addEventListener('reset', (event) => {
    event.preventDefault();
    for (const key of Object.keys(dlroof.state))
      if (key !== 'selected' && key !== 'sort') dlroof.state[key] = '';
    dlroof.showFilters();
    changed();
  });
};
