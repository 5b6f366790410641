'use strict';
// The classic roofline. The content has the roofs as lines: a slanted roof runs from `start` to its ridge with the highest flat roof.
dlroof.farRight = 1e9;  // [FLOP/byte] right of any chart

dlroof.drawnFlats = (roofs) => {
  if (dlroof.state.every !== '') return roofs.flops;
  const used = roofs.flops.filter((flat) => roofs.used.includes(flat.key));
  if (used.length === 0) return roofs.flops.filter((flat) => !flat.finer);
  // A plain roof above a finer row that judges is drawn too: the measured knee ends at it.
  const above = (flat) => {
    const finer = used.filter((one) => one.key.startsWith(`${flat.key}.`));
    return !flat.finer && finer.length > 0 && finer.every((one) => one.per_second < flat.per_second);
  };
  return roofs.flops.filter((flat) => used.includes(flat) || above(flat));
};

dlroof.classicPoints = (shown) => {
  const levels = dlroof.currentLevels();
  const points = [];
  for (const index of shown) {
    const record = dlroof.records[index];
    if (!dlroof.onRoofs(record)) continue;
    const drawn = levels.map((level) => dlroof.levelOf(record, level));
    for (const entry of dlroof.list(record.classic)) {
      if (!drawn.includes(entry.level) || !dlroof.isNumber(entry.intensity) || !dlroof.isNumber(entry.flops_per_second)) continue;
      points.push({index, record, entry, level: entry.level, place: [entry.intensity, entry.flops_per_second]});
    }
  }
  return points;
};

dlroof.dashOf = (roof) => (roof.given ? 'dashdot' : roof.proved ? 'solid' : 'dash');

dlroof.roofLine = (line, roof, strong, colours) => ({
  type: 'scatter',
  mode: 'lines',
  x: line.map((p) => p[0]),
  y: line.map((p) => p[1]),
  hoverinfo: 'skip',
  line: {color: strong ? colours.roof : colours.faint, width: strong ? 2 : 1.2, dash: dlroof.dashOf(roof)}
});

dlroof.classicRoofs = (roofs, colours) => {
  const flats = dlroof.drawnFlats(roofs);
  const levels = dlroof.currentLevels();
  const fastest = roofs.bytes.reduce((best, roof) => (best === undefined || roof.per_second > best.per_second ? roof : best), undefined);
  const lines = [];
  for (const flat of flats) {
    const from = fastest === undefined ? 1 / dlroof.farRight : fastest.ridges[flat.key];
    lines.push({
      roof: flat,
      unit: 'FLOP/s',
      flat: true,
      strong: roofs.used.includes(flat.key),
      line: [[from, flat.per_second], [dlroof.farRight, flat.per_second]]
    });
  }
  for (const slanted of roofs.bytes) {
    const end = flats.length > 0 ? [slanted.ridges[flats[0].key], flats[0].per_second] : [dlroof.farRight, slanted.start[1]];
    lines.push({roof: slanted, unit: 'B/s', flat: false, strong: levels.includes(slanted.key), line: [slanted.start, end]});
  }
  for (const flat of flats.filter((one) => dlroof.isNumber(one.sustained_per_second))) {
    const from = fastest === undefined ? 1 / dlroof.farRight : fastest.sustained_ridges[flat.key];
    lines.push({
      roof: {key: `sustained ${flat.sustained_per_second}`, per_second: flat.sustained_per_second, proved: flat.proved, given: flat.given},
      name: 'sustained',
      unit: 'FLOP/s',
      flat: true,
      strong: false,
      line: [[from, flat.sustained_per_second], [dlroof.farRight, flat.sustained_per_second]]
    });
  }
  for (const slanted of roofs.bytes.filter((one) => dlroof.isNumber(one.sustained_per_second))) {
    const end =
        flats.length > 0 ? [slanted.sustained_ends[flats[0].key], flats[0].per_second] : [dlroof.farRight, slanted.sustained_start[1]];
    lines.push({
      roof: {key: `sustained ${slanted.key}`, per_second: slanted.sustained_per_second, proved: slanted.proved, given: slanted.given},
      name: 'sustained',
      unit: 'B/s',
      flat: false,
      strong: false,
      line: [slanted.sustained_start, end]
    });
  }
  for (const one of lines) one.trace = dlroof.roofLine(one.line, one.roof, one.strong, colours);
  return lines;
};

dlroof.ridges = (roofs) => {
  const flats = dlroof.drawnFlats(roofs).filter((flat) => !flat.finer || roofs.used.includes(flat.key));
  const levels = dlroof.currentLevels();
  const slanted = roofs.bytes.filter((roof) => levels.includes(roof.key));
  return slanted.flatMap(
      (roof) =>
          flats.map((flat) => ({x: roof.ridges[flat.key], y: flat.per_second, text: `ridge ${dlroof.digits(roof.ridges[flat.key])}`})));
};

// The measured knees of the levels whose points are drawn.
dlroof.measuredRidges = (roofs) =>
    dlroof.currentLevels().map((level) => [level, dlroof.list(dlroof.map(roofs.measured_ridges)[level])]).filter(([
                                                                                                                   , points
                                                                                                                 ]) => points.length > 0);

dlroof.measuredRidgeTraces = (roofs, colours) => dlroof.measuredRidges(roofs).map(
    ([level, points]) => ({
      type: 'scatter',
      mode: 'lines+markers',
      x: points.map((p) => p[0]),
      y: points.map((p) => p[1]),
      line: {color: colours.knee, width: 1.2},
      marker: {symbol: 'circle', size: 4, color: colours.knee},
      text:
          points.map((p) => `${dlroof.levelName(level)} measured knee: ${dlroof.digits(p[0])} FLOP/byte, ${dlroof.scaled(p[1], 'FLOP/s')}`),
      hovertemplate: '%{text}<extra></extra>'
    }));

dlroof.classicLabels = (plane, lines, ridges, colours) => {
  const labels = [];
  for (const one of lines) {
    const name = one.name || (one.flat ? one.roof.key : dlroof.levelName(one.roof.key));
    const note = one.roof.given ? ` (${dlroof.specifiedText})` : one.roof.proved ? '' : ' (not validated)';
    for (const text of [`${name}  ${dlroof.scaled(one.roof.per_second, one.unit)}${note}`, name]) {
      const places = one.flat ? dlroof.alongLevel(plane, one.roof.per_second, plane.left(one.line[0][0]), text) :
                                [...dlroof.alongRising(plane, one.line, text, -1), ...dlroof.alongRising(plane, one.line, text, 1)];
      labels.push({text, places, of: one.roof.key, colour: one.strong ? colours.ink : colours.soft});
    }
  }
  for (const ridge of ridges) {
    const half = ridge.text.length * dlroof.letter / 2;
    const [left, top] = [plane.left(ridge.x), plane.top(ridge.y)];
    labels.push({
      text: ridge.text,
      colour: colours.soft,
      places: [
        {left: left + half + 7, top: top + 10, angle: 0}, {left: left + half + 7, top: top + 22, angle: 0},
        {left: left + half + 7, top: top - 10, angle: 0}, {left: left - half - 7, top: top - 10, angle: 0}
      ]
    });
  }
  return labels;
};

dlroof.classicTraces = (points, lines, ridges, joints, colours) => {
  const traces = [...lines.map((one) => one.trace), ...joints];
  traces.push({
    type: 'scatter',
    mode: 'markers',
    x: ridges.map((ridge) => ridge.x),
    y: ridges.map((ridge) => ridge.y),
    hoverinfo: 'skip',
    marker: {symbol: 'diamond', size: 6, color: colours.roof}
  });
  const trace = {
    type: 'scatter',
    mode: 'markers',
    x: points.map((p) => p.entry.intensity),
    y: points.map((p) => p.entry.flops_per_second),
    customdata: points.map((p) => p.index),
    text: points.map((p) => dlroof.hoverText(p.record, p.entry.level, p.entry)),
    hovertemplate: '%{text}<extra></extra>',
    marker: dlroof.markerStyle(
        points.length, points.map((p) => dlroof.symbol(p.record, dlroof.isMeasured(p.entry))),
        points.map((p) => dlroof.markColour(p.record, p.level)), points.map((p) => dlroof.isNoisy(p.record)))
  };
  if (points.length <= 1000) {
    const bars = points.map((p) => dlroof.list(p.entry.error_bar));
    trace.error_y = {
      type: 'data',
      symmetric: false,
      arrayminus: bars.map((bar) => bar[0] || 0),
      array: bars.map((bar) => bar[1] || 0),
      thickness: 0.8,
      width: 0,
      color: colours.faint
    };
  }
  traces.push(trace);
  return traces;
};

dlroof.drawClassic = (shown) => {
  const element = dlroof.byId('classic');
  const roofs = dlroof.currentRoofs();
  const caption = dlroof.byId('classic-caption');
  if (roofs === undefined) {
    caption.textContent = 'This file has no ceilings (dlroof machine measures them).';
    element.hidden = true;
    return;
  }
  const points = dlroof.classicPoints(shown);
  const ridges = dlroof.ridges(roofs);
  const flats = dlroof.drawnFlats(roofs);
  const ranges = {
    x: dlroof.rangeOf([...points.map((p) => p.entry.intensity), ...ridges.map((ridge) => ridge.x)], 0.6, 0.9),
    y: dlroof.rangeOf(
        [...points.map((p) => p.entry.flops_per_second), ...flats.map((flat) => flat.per_second)], points.length > 0 ? 0.35 : 2, 0.3)
  };
  dlroof.draw(element, ranges, (plane) => {
    const colours = dlroof.palette();
    const lines = dlroof.classicRoofs(roofs, colours);
    const moves = dlroof.moveArrows(points, dlroof.classicBefore, colours);
    const joints = [
      ...dlroof.measuredRidgeTraces(roofs, colours), ...dlroof.levelTraces(points, colours), ...dlroof.parameterTraces(points),
      ...moves.traces
    ];
    return {
      arrows: moves.arrows,
      traces: dlroof.classicTraces(points, lines, ridges, joints, colours),
      labels: dlroof.classicLabels(plane, lines, ridges, colours),
      marks: points.map((p) => [p.index, [p.entry.intensity, p.entry.flops_per_second]]),
      layout: dlroof.layout('intensity [FLOP/byte]', 'performance [FLOP/s]', plane, 3)
    };
  });
  caption.textContent =
      `${dlroof.drawnText(points, shown)} Bytes of ${dlroof.levelsText(points)}; roofs of ${dlroof.roofsName(roofs)}. ` +
      `${dlroof.hollowNote} ${
              [...flats, ...roofs.bytes].some((roof) => roof.given) ? `Dashes and dots: ${dlroof.specifiedText}.` :
                                                                      'Dashed: not validated.'}${
          dlroof.measuredRidges(roofs).length > 0 ? ' Thin line with dots: measured knee, by loads with multiply-adds.' : ''}${
              [...flats, ...roofs.bytes].some((roof) => dlroof.isNumber(roof.sustained_per_second)) ?
              ' Thin line named sustained: the rate of that roof over seconds.' :
              ''}${dlroof.beforeNote()}`;
};

// "12 benchmarks drawn, 3 without a point here (2 of them on other roofs)."
dlroof.drawnText = (points, shown) => {
  const drawn = new Set(points.map((p) => p.index)).size;
  const left = shown.length - drawn;
  const other = shown.filter((index) => !dlroof.onRoofs(dlroof.records[index]) && dlroof.records[index].classic).length;
  const reason = other > 0 ? ` (${other} of them on other roofs)` : '';
  return `${drawn} benchmark${drawn === 1 ? '' : 's'} drawn${left > 0 ? `, ${left} without a point here${reason}` : ''}.`;
};
