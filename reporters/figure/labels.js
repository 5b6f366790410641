'use strict';
// Shared by the charts: colours, symbols, the plane in pixels, and labels that do not overlap.
dlroof.margins = {
  l: 58,
  r: 14,
  t: 34,
  b: 46
};
dlroof.timeMargins = {
  l: 58,
  r: 58,
  t: 66,
  b: 46
};                    // with axes on all sides
dlroof.letter = 6.3;  // [px] mean width of a letter of a label
dlroof.symbols = {
  f32: 'circle',
  bf16: 'square',
  int8: 'diamond',
  f16: 'triangle-up',
  tf32: 'pentagon',
  f64: 'hexagon'
};
dlroof.palettes = {
  light: {
    ink: '#1b2430',
    soft: '#5b6675',
    line: '#dfe4ea',
    roof: '#27313d',
    faint: '#8b96a5',
    card: 'rgba(255,255,255,.78)',
    accent: '#0b62a8',
    paper: '#ffffff',
    knee: '#6f93b8',
    box: 'rgba(154,91,0,.07)',
    warn: '#9a5b00',
    series: ['#0072b2', '#d55e00', '#009e73', '#b5468f', '#8a6d00', '#4b4fc4', '#6b7280', '#b3261e']
  },
  dark: {
    ink: '#e4e9f0',
    soft: '#9aa7b6',
    line: '#2c3541',
    roof: '#d5dde7',
    faint: '#6d7a8a',
    card: 'rgba(25,31,39,.78)',
    accent: '#6cb4f5',
    paper: '#191f27',
    knee: '#5f86ae',
    box: 'rgba(227,169,76,.10)',
    warn: '#e3a94c',
    series: ['#4aa8e0', '#f28d4b', '#35c79a', '#e38cc4', '#d3b13c', '#9a9df5', '#a3adba', '#ff8a80']
  },
};
dlroof.printing = false;
dlroof.isDark = () => !dlroof.printing && matchMedia('(prefers-color-scheme: dark)').matches;
dlroof.palette = () => dlroof.palettes[dlroof.isDark() ? 'dark' : 'light'];

dlroof.manyLibraries = new Set(dlroof.records.map((record) => dlroof.text(record.library))).size > 1;
// Several runs in one report have labels after their libraries: each run is then a series.
dlroof.labelOf = (record) => dlroof.text(record.library).split('@')[1] || '';
dlroof.seriesOf = (record) => dlroof.labelOf(record) ||
    [record.op, dlroof.manyLibraries ? record.library : '', record.direction].map(dlroof.text).filter((part) => part !== '').join(' ');
dlroof.seriesNames = [...new Set(dlroof.records.filter((record) => record.classic || record.time).map(dlroof.seriesOf))].sort();
dlroof.colour = (record) => {
  const colours = dlroof.palette().series;
  return colours[Math.max(0, dlroof.seriesNames.indexOf(dlroof.seriesOf(record))) % colours.length];
};
// The colours of the hierarchical roofline paper: L1 blue, L2 red, the farthest level green.
dlroof.levelSeries = {
  l1: 0,
  l2: 1,
  l3: 3,
  dram: 2,
  host: 6
};
dlroof.byLevels = () => dlroof.currentLevels().length > 1;
dlroof.markColour = (record, level) => (dlroof.byLevels() ? dlroof.palette().series[dlroof.levelSeries[level]] : dlroof.colour(record));
dlroof.symbol = (record, measured) =>
    (dlroof.symbols[record.type] || (dlroof.text(record.type) === '' ? 'circle' : 'cross')) + (measured ? '' : '-open');
dlroof.isMeasured = (entry) => entry !== undefined && entry.flops_from === 'measured' && entry.bytes_from === 'measured';

// The chart's plane. Ranges are powers of ten; positions are [px] from its upper left corner.
dlroof.plane = (element, x, y) => {
  const margins = element.id === 'time' ? dlroof.timeMargins : dlroof.margins;
  const width = (dlroof.printing ? 680 : element.clientWidth) - margins.l - margins.r;
  const height = (dlroof.printing ? 350 : element.clientHeight) - margins.t - margins.b;
  return {
    x,
    y,
    width,
    height,
    margins,
    left: (value) => (Math.log10(value) - x[0]) / (x[1] - x[0]) * width,
    top: (value) => (y[1] - Math.log10(value)) / (y[1] - y[0]) * height,
    logX: (left) => x[0] + left / width * (x[1] - x[0]),
    logY: (top) => y[1] - top / height * (y[1] - y[0])
  };
};

dlroof.rangeOf = (values, before, after) => {
  const known = values.filter((value) => dlroof.isNumber(value) && value > 0).map(Math.log10);
  if (known.length === 0) return [0, 1];
  return [known.reduce((a, b) => Math.min(a, b)) - before, known.reduce((a, b) => Math.max(a, b)) + after];
};

// A label as discs along its line, to detect overlaps.
dlroof.discs = (label, place) => {
  const length = label.text.length * dlroof.letter;
  const angle = place.angle * Math.PI / 180;
  const discs = [];
  for (let along = -length / 2 + 4; along <= length / 2 - 2; along += 8) {
    discs.push([place.left + along * Math.cos(angle), place.top + along * Math.sin(angle)]);
  }
  return discs;
};

// Each label takes its first place that is inside the plane and overlaps no other label, if possible without points. A label
// without such a place is left out. Of several labels with the same `of` only the first one with a place is drawn.
dlroof.placeLabels = (plane, labels, marks) => {
  const taken = [];
  const points = marks.length > 600 ? [] : marks.map(([x, y]) => [plane.left(x), plane.top(y)]);
  const annotations = [];
  const inside = ([left, top]) => left > 3 && left < plane.width - 3 && top > 6 && top < plane.height - 5;
  const clear = (disc, others) => others.every((other) => (disc[0] - other[0]) ** 2 + (disc[1] - other[1]) ** 2 > 150);
  const named = new Set();
  for (const label of labels) {
    if (named.has(label.of)) continue;
    const free = label.places.filter((one) => dlroof.discs(label, one).every((disc) => inside(disc) && clear(disc, taken)));
    const place = free.find((one) => dlroof.discs(label, one).every((disc) => clear(disc, points))) || free[0];
    if (place === undefined) continue;
    if (label.of !== undefined) named.add(label.of);
    taken.push(...dlroof.discs(label, place));
    annotations.push({
      text: dlroof.escape(label.text),
      x: plane.logX(place.left),
      y: plane.logY(place.top),
      showarrow: false,
      textangle: place.angle,
      xanchor: 'center',
      yanchor: 'middle',
      borderpad: 0,
      bgcolor: label.bare ? 'rgba(0,0,0,0)' : dlroof.palette().card,
      font: {size: 11, color: label.colour}
    });
  }
  return annotations;
};

// Places along a line that rises to the right, from its visible lower end upwards. `side` is -1 above the line and 1 below.
dlroof.alongRising = (plane, line, text, side) => {
  const [from, to] = line.map(([x, y]) => [plane.left(x), plane.top(y)]);
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const places = [];
  const half = text.length * dlroof.letter / 2;
  const enter = Math.max(0, from[0], from[0] + (plane.height - from[1]) / Math.tan(angle));
  for (let left = enter + half * Math.cos(angle) + 6; left < Math.min(to[0], plane.width); left += 9) {
    const top = from[1] + (left - from[0]) * Math.tan(angle);
    places.push({left: left - side * 9 * Math.sin(angle), top: top + side * 9 * Math.cos(angle), angle: angle * 180 / Math.PI});
  }
  return places;
};

// Places along a level line, from its right end to the left.
dlroof.alongLevel = (plane, y, fromLeft, text) => {
  const half = text.length * dlroof.letter / 2;
  const places = [];
  for (let left = plane.width - half - 5; left > Math.max(fromLeft, 0) + half; left -= 12) {
    places.push({left, top: plane.top(y) - 9, angle: 0}, {left, top: plane.top(y) + 9, angle: 0});
  }
  return places;
};

dlroof.axis = (title, range, plain) => {
  const colours = dlroof.palette();
  return {
    type: 'log',
    title: {text: title, standoff: 6, font: {size: 12, color: colours.soft}},
    range: range.slice(),
    dtick: range[1] - range[0] > 1.3 ? 1 : 'D1',
    exponentformat: 'SI extended',
    minexponent: plain,
    gridcolor: colours.line,
    zeroline: false,
    linecolor: colours.faint,
    tickcolor: colours.faint,
    ticks: 'outside',
    ticklen: 4,
    showline: true,
    tickfont: {size: 11, color: colours.soft},
    minor: {ticks: 'outside', ticklen: 2, dtick: 'D1', tickcolor: colours.faint, showgrid: false}
  };
};

// Numbers from 10^-plain to 10^plain have no prefix.
dlroof.layout = (xTitle, yTitle, plane, plain) => {
  const colours = dlroof.palette();
  const {l, r, t, b} = plane.margins;
  return {
    width: plane.width + l + r,
    height: plane.height + t + b,
    margin: {l, r, t, b, pad: 0},
    showlegend: false,
    hovermode: 'closest',
    hoverdistance: 12,
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: {family: 'system-ui, "Segoe UI", "Liberation Sans", Roboto, sans-serif', size: 12, color: colours.ink},
    dragmode: matchMedia('(pointer: coarse)').matches ? false : 'zoom',
    modebar: {bgcolor: 'rgba(0,0,0,0)', color: colours.faint, activecolor: colours.accent},
    hoverlabel: {bgcolor: colours.paper, bordercolor: colours.faint, align: 'left', font: {size: 12, color: colours.ink}},
    xaxis: dlroof.axis(xTitle, plane.x, plain),
    yaxis: dlroof.axis(yTitle, plane.y, plain)
  };
};

dlroof.hollowNote = 'Hollow: modelled or simulated; filled: measured by counters.' +
    (dlroof.records.some(dlroof.isNoisy) ? ' Pale: noisy, the time is an estimate.' : '');

dlroof.markerStyle = (count, symbols, colours, pale) => ({
  symbol: symbols,
  color: colours,
  size: count > 1500 ? 5 : 9,
  opacity: pale.map((one) => (one ? 0.35 : 1) * (count > 1500 ? 0.75 : 1)),
  line: {width: count > 1500 ? 1 : 1.7, color: colours}
});

// Rings round the marks of the selected benchmark. They are elements of the page, since plotly would redraw everything.
dlroof.drawRings = (element) => {
  for (const ring of element.querySelectorAll(':scope > .ring')) ring.remove();
  if (element.dlroofPlane === undefined || dlroof.state.selected === '') return;
  const plane = element.dlroofPlane;
  for (const [index, point] of element.dlroofMarks) {
    if (index === undefined || dlroof.text(dlroof.records[index].name) !== dlroof.state.selected) continue;
    const [left, top] = [plane.left(point[0]), plane.top(point[1])];
    if (left < 0 || left > plane.width || top < 0 || top > plane.height) continue;
    const ring = dlroof.add(element, 'div', 'ring');
    ring.style.left = `${left + plane.margins.l}px`;
    ring.style.top = `${top + plane.margins.t}px`;
  }
};

// Draws `build(plane)` now and after every zoom, since angles and places of labels depend on the ranges. `build` returns traces,
// layout, labels, and the marks ([record or undefined, [x, y]]) that labels should not cover.
dlroof.draw = (element, ranges, build) => {
  const react = (x, y) => {
    const plane = dlroof.plane(element, x, y);
    const {traces, layout, labels, marks, arrows} = build(plane);
    layout.annotations = [...dlroof.placeLabels(plane, labels, marks.map((mark) => mark[1])), ...dlroof.list(arrows)];
    element.dlroofPlane = plane;
    element.dlroofMarks = marks;
    dlroof.drawRings(element);
    return Plotly.react(element, traces, layout, {
      displaylogo: false,
      modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']],
      toImageButtonOptions: {format: 'svg', filename: `dlroof-${element.id}`}
    });
  };
  element.dlroofAgain = (change) => {
    if (change['xaxis.autorange'] || change['yaxis.autorange']) return react(ranges.x, ranges.y);
    if (Object.keys(change).some((key) => /^[xy]axis\.range/.test(key)))
      return react(element.layout.xaxis.range.slice(), element.layout.yaxis.range.slice());
    return undefined;
  };
  react(ranges.x, ranges.y);
  if (element.dlroofWatched) return;
  element.dlroofWatched = true;
  element.on('plotly_relayout', (change) => element.dlroofAgain(change));
  element.on('plotly_doubleclick', () => element.dlroofAgain({'xaxis.autorange': true}));
  element.on('plotly_click', (event) => {
    const index = event.points[0].customdata;
    if (index !== undefined) dlroof.select(index);
  });
};

dlroof.nameLines = (record) => dlroof.escape(dlroof.shownName(record)).replace(/^((?:[^/]*\/){5})/, '$1<br>');

dlroof.hoverText = (record, level, entry) => {
  const lines = [`<b>${dlroof.nameLines(record)}</b>`];
  const time = dlroof.map(record.time);
  const spread = dlroof.interval(dlroof.map(record.seconds).ci95, 's');
  lines.push(dlroof.marked(record, dlroof.scaled(dlroof.map(record.seconds).median, 's')) + (spread ? ` (95 %: ${spread})` : ''));
  if (entry !== undefined) {
    lines.push(
        `${dlroof.scaled(entry.flops_per_second, 'FLOP/s')} at ${dlroof.digits(entry.intensity)} FLOP/byte of ${dlroof.levelName(level)}`);
    const roof = `its ${time.given === true ? 'specified ' : ''}${dlroof.levelName(level)} roof, ${dlroof.scaled(entry.roof, 'FLOP/s')}`;
    lines.push(`${dlroof.shareText(entry, false)} of ${roof}${dlroof.isNumber(entry.fraction) ? '' : ': a roof is not validated'}`);
    const binding = dlroof.binding(record);
    if (binding !== undefined && binding !== entry)
      lines.push(`${dlroof.shareText(binding, false)} of the binding roof (${dlroof.levelName(binding.level)})`);
    lines.push(`FLOPs ${dlroof.escape(entry.flops_from)}, bytes ${dlroof.escape(entry.bytes_from)}`);
  }
  if (time.bound)
    lines.push(`bound by ${dlroof.escape(dlroof.boundText(record))}${
        dlroof.isNumber(dlroof.slowdown(time)) ? `, ${dlroof.slowdownText(time, dlroof.isNoisy(record))} its roof` : ''}`);
  if (record.algorithm) lines.push(dlroof.escape(dlroof.algorithm(record)));
  return lines.join('<br>');
};
