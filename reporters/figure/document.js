'use strict';
// A program's report: the blocks of the terminal's report, with the same texts.
dlroof.partColors = {
  roof: 'var(--part-roof)',
  above_roof: 'var(--part-above)',
  zero_flop: 'var(--part-zero)',
  other: 'var(--part-other)',
  idle: 'var(--part-idle)'
};
dlroof.partColor = (kind) => dlroof.partColors[kind] || dlroof.partColors.other;

dlroof.addSentences = (parent, texts, className) => {
  for (const text of dlroof.list(texts)) dlroof.add(parent, 'p', className, dlroof.text(text));
};

dlroof.addDocumentList = (parent, list) => {
  if (list.title) dlroof.add(parent, 'h3', '', dlroof.text(list.title));
  const items = dlroof.add(parent, list.numbered ? 'ol' : 'ul', 'facts');
  for (const item of dlroof.list(list.items).map(dlroof.map)) {
    const element = dlroof.add(items, 'li', '', dlroof.text(item.text));
    for (const detail of dlroof.list(item.details)) dlroof.add(element, 'div', '', dlroof.text(detail));
  }
};

dlroof.addDocumentCell = (row, cell, column, first) => {
  const text = typeof cell === 'string' ? cell : dlroof.text(dlroof.map(cell).text);
  const element = dlroof.add(row, 'td', first ? 'name' : 'number');
  if (text === '') return;
  if (!first) element.dataset.label = dlroof.text(column);
  // Rows of a tree are indented by spaces, which a page would not show.
  if (first && text.startsWith(' ')) element.style.paddingLeft = `${7 + 7 * (text.length - text.trimStart().length)}px`;
  // "34.0 GFLOP/s" stays on one line.
  if (first || text.length > 20) dlroof.addBreakable(element, text);
  else element.textContent = text;
  const whole = dlroof.text(dlroof.map(cell).whole);
  if (whole !== '') element.title = whole;
};

dlroof.addDocumentTable = (parent, table) => {
  const columns = dlroof.list(table.columns);
  const rows = dlroof.list(table.rows);
  if (table.title) dlroof.add(parent, 'h3', '', dlroof.text(table.title));
  const box = dlroof.add(dlroof.add(parent, 'div', 'scroll'), 'table');
  const head = dlroof.add(dlroof.add(box, 'thead'), 'tr');
  columns.forEach((title, i) => {
    dlroof.add(head, 'th', i === 0 ? '' : 'number', dlroof.text(title)).scope = 'col';
  });
  const draw = (body, some) => {
    for (const cells of some) {
      const row = dlroof.add(body, 'tr');
      dlroof.list(cells).forEach((cell, i) => dlroof.addDocumentCell(row, cell, columns[i], i === 0));
    }
  };
  const body = dlroof.add(box, 'tbody');
  const first = dlroof.isNumber(table.first) ? table.first : rows.length;
  draw(body, rows.slice(0, first));
  const rest = dlroof.add(box, 'tbody');
  if (table.rest) draw(rest, [table.rest]);
  draw(dlroof.add(box, 'tbody'), dlroof.list(table.last));
  if (rows.length > first) {
    const more = dlroof.add(dlroof.add(parent, 'p', 'more'), 'button', '', `Show ${rows.length - first} more`);
    more.type = 'button';
    more.addEventListener('click', () => {
      rest.remove();
      draw(body, rows.slice(first));
      more.parentElement.remove();
    });
  }
  dlroof.addSentences(parent, table.notes, 'facts');
};

// One bar of all parts, and a line for each of them.
dlroof.addDocumentBar = (parent, bar) => {
  const parts = dlroof.list(bar.parts).map(dlroof.map);
  const total = parts.reduce((sum, part) => sum + (part.seconds > 0 ? part.seconds : 0), 0);
  dlroof.add(parent, 'h3', '', dlroof.text(bar.title));
  if (bar.about) dlroof.addSentences(parent, [bar.about], 'facts');
  const line = dlroof.add(parent, 'div', 'parts');
  line.setAttribute('role', 'img');
  line.setAttribute('aria-label', 'The parts of this time; the list below has the same numbers');
  const list = dlroof.add(dlroof.add(parent, 'table', 'part-list'), 'tbody');
  for (const part of parts) {
    if (!(part.seconds > 0)) continue;
    const piece = dlroof.add(line, 'span');
    piece.style.flexGrow = String(1000 * part.seconds / total);  // a sum below 1 would not fill the bar
    piece.style.background = dlroof.partColor(part.kind);
    piece.title = `${dlroof.text(part.label)}: ${dlroof.text(part.time)}, ${dlroof.text(part.share)}`;
    const row = dlroof.add(list, 'tr');
    dlroof.add(dlroof.add(row, 'td', 'swatch'), 'span').style.background = dlroof.partColor(part.kind);
    dlroof.add(row, 'td', 'number', dlroof.text(part.time));
    dlroof.add(row, 'td', 'number', dlroof.text(part.share));
    dlroof.add(row, 'td', 'label', dlroof.text(part.label));
  }
  dlroof.addSentences(parent, bar.notes, 'facts');
};

dlroof.addDocumentStrip = (parent, strip) => {
  dlroof.add(parent, 'h3', '', dlroof.text(strip.title));
  const box = dlroof.add(dlroof.add(parent, 'div', 'scroll'), 'div', 'strip');
  for (const one of dlroof.list(strip.rows).map(dlroof.map)) {
    dlroof.add(box, 'span', 'mono', dlroof.text(one.name));
    const line = dlroof.add(box, 'div', 'lane');
    for (const [begin, end, kind, label, busy] of dlroof.list(one.intervals)) {
      const piece = dlroof.add(line, 'span');
      piece.style.left = `${100 * begin / strip.seconds}%`;
      piece.style.width = `${100 * (end - begin) / strip.seconds}%`;
      piece.style.background = dlroof.partColor(kind);
      piece.style.opacity = String(busy);
      piece.title = `${busy < 1 ? `${dlroof.percent(busy)} ` : ''}${dlroof.text(label)}: ${dlroof.scaled(end - begin, 's')} from ${
          dlroof.scaled(begin, 's')}`;
    }
  }
  dlroof.add(box, 'span');
  const scale = dlroof.add(box, 'div', 'scale');
  dlroof.add(scale, 'span', '', '0');
  dlroof.add(scale, 'span', '', dlroof.scaled(strip.seconds, 's'));
};

dlroof.drawProgram = () => {
  const blocks = dlroof.list(dlroof.content.program).map(dlroof.map);
  dlroof.byId('program-section').hidden = blocks.length === 0;
  const parent = dlroof.byId('program');
  for (const block of blocks) {
    dlroof.addSentences(parent, block.advice, 'advice');
    dlroof.addSentences(parent, block.sentences, 'facts');
    if (block.list) dlroof.addDocumentList(parent, dlroof.map(block.list));
    if (block.table) dlroof.addDocumentTable(parent, dlroof.map(block.table));
    if (block.bar) dlroof.addDocumentBar(parent, dlroof.map(block.bar));
    if (block.strip) dlroof.addDocumentStrip(parent, dlroof.map(block.strip));
  }
};
