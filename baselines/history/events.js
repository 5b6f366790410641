'use strict';
// Lasting changes. An event is a change of level of several benchmarks in the same run (history.h).
dlroof.events = dlroof.list(dlroof.content.events);

// Returns the number of runs since an event, and its date, as text.
dlroof.sinceText = (event) => {
  const runs = dlroof.runs.length - event.run;
  return `${runs} run${runs === 1 ? '' : 's'} ago`;
};

// Draws the event's benchmarks over time: median of their times, each relative to its level before. The new level is shaded.
dlroof.course = (event) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const [width, height, edge] = [260, 46, 4];
  for (const [key, value] of Object.entries({class: 'course', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'}))
    svg.setAttribute(key, value);
  const add = (tag, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    svg.append(element);
  };
  const known = event.course.filter((value) => dlroof.isNumber(value));
  const low = Math.min(...known, 0.97);
  const high = Math.max(...known, 1.03);
  const x = (run) => edge + (width - 2 * edge) * (event.course.length < 2 ? 0.5 : run / (event.course.length - 1));
  const y = (value) => height - edge - (height - 2 * edge) * (value - low) / (high - low);
  const start = x(event.run - 0.5);
  add('rect', {class: event.ratio > 1 ? 'bad' : 'good', x: start, y: 0, width: Math.max(width - start, 0), height});
  add('path', {class: 'level', d: `M${edge} ${y(1).toFixed(1)}H${width - edge}`});
  const line = event.course.map((value, run) => [run, value]).filter(([, value]) => dlroof.isNumber(value));
  add('path', {d: line.map(([run, value], i) => `${i === 0 ? 'M' : 'L'}${x(run).toFixed(1)} ${y(value).toFixed(1)}`).join('')});
  return svg;
};

// Returns a word of a shell command (text::CommandLine), since a commit or a name may be anything.
dlroof.quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`;

// Adds the commits between which the event happened, within the range that the noise allows.
dlroof.addCommits = (cell, event) => {
  const before = dlroof.runs[Math.max(event.earliest - 1, 0)];
  const after = dlroof.runs[event.latest];
  const [good, bad] = [dlroof.text(before.commit), dlroof.text(after.commit)];
  if (good === '' || bad === '') {
    dlroof.add(cell, 'span', 'facts', good === bad ? 'no commits stored' : `${good || '?'}..${bad || '?'}`);
    return;
  }
  const runs = event.latest - event.earliest + 1;
  dlroof.add(cell, 'code', 'mono', good === bad ? bad.slice(0, 10) : `${good.slice(0, 10)}..${bad.slice(0, 10)}`);
  dlroof.add(cell, 'small', '', runs === 1 ? 'between two runs' : `one of ${runs} runs`);
  if (good === bad || good.startsWith('-') || bad.startsWith('-')) return;  // those would be options
  const button = dlroof.add(cell, 'button', 'link copy', 'copy bisect command');
  button.type = 'button';
  const name = dlroof.series[event.series[0]].name;
  const build = /^\w+\/[cg]pu\//.test(name) ? '' : ' --build \'BUILD COMMAND\' --program PATH';  // not of dlroof_bench
  const [from, to, quoted] = [good.slice(0, 12), bad.slice(0, 12), name].map(dlroof.quoted);
  const command = `dlroof bisect ${from} ${to}${build} -- ${quoted}`;
  button.title = command;
  button.addEventListener('click', () => {
    if (navigator.clipboard) navigator.clipboard.writeText(command);
    button.textContent = command;
  });
};

dlroof.eventRow = (body, event) => {
  const slower = event.ratio > 1;
  const row = dlroof.add(body, 'tr');
  const size = dlroof.add(row, 'td', `size ${slower ? 'slower' : 'faster'}`, dlroof.changeText(event.ratio));
  dlroof.add(size, 'small', '', `${dlroof.changeText(event.low)} to ${dlroof.changeText(event.high)}`);
  dlroof.add(size, 'small', '', event.series.length > 1 ? `range of ${event.series.length}` : '95 % interval');
  const what = dlroof.add(row, 'td', 'name');
  const link =
      dlroof.add(what, 'button', 'link', /\w/.test(event.pattern) ? event.pattern : `${dlroof.series[event.series[0]].name} and others`);
  link.type = 'button';
  link.dataset.index = event.series[0];
  dlroof.add(what, 'small', '', event.series.length === 1 ? 'this benchmark alone' : `${event.series.length} benchmarks`);
  dlroof.add(row, 'td').append(dlroof.course(event));
  const since = dlroof.add(row, 'td', 'since', dlroof.dateText(dlroof.runs[event.run]).slice(0, 10));
  dlroof.add(since, 'small', '', dlroof.sinceText(event));
  dlroof.add(row, 'td', `sure ${event.sure.replaceAll(/[ ,?]+/g, '-')}`, event.sure);
  dlroof.addCommits(dlroof.add(row, 'td', 'commits'), event);
};

// Fills a table with the events of one direction, except those that may be chance.
dlroof.drawEvents = (id, slower) => {
  const section = dlroof.byId(`${id}-section`);
  const all = dlroof.events.filter((event) => (event.ratio > 1) === slower && event.sure !== 'may be chance');
  const count = new Set(all.flatMap((event) => event.series)).size;
  const {measured, unjudged} = dlroof.content;
  const few = unjudged === 0 ? '' : ` (clean times in fewer than two runs: ${unjudged} of ${measured} benchmarks)`;
  const none = 2 * unjudged < measured ? 'Nothing' : 'Cannot tell whether anything';
  dlroof.byId(`${id}-title`).textContent = all.length === 0 ?
      `${none} got ${slower ? 'slower' : 'faster'}` :
      `${count} benchmark${count === 1 ? '' : 's'} ${slower ? 'slower' : 'faster'} than before, by ${all.length} change${
          all.length === 1 ? '' : 's'}`;
  dlroof.byId(`${id}-title`).append(few);
  dlroof.byId(`${id}-table`).hidden = all.length === 0;
  if (all.length > 0) section.classList.add(slower ? 'bad-news' : 'good-news');
  dlroof.drawRows(dlroof.byId(id), dlroof.byId(`${id}-more`), all, dlroof.eventRow);
};

dlroof.drawAllEvents = () => {
  dlroof.drawEvents('slower', true);
  dlroof.drawEvents('faster', false);
  const chance = dlroof.events.filter((event) => event.sure === 'may be chance');
  dlroof.byId('chance-section').hidden = chance.length === 0;
  dlroof.byId('chance-title').textContent = `${chance.length} single small change${chance.length === 1 ? '' : 's'} that may be chance`;
  dlroof.drawRows(dlroof.byId('chance'), dlroof.byId('chance-more'), chance, dlroof.eventRow);
};
