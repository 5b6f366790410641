'use strict';
// Lines between points: sweeps, the levels of a record, arrows from an older run file to this one.
dlroof.parameters = dlroof.list(dlroof.content.sweeps).map(dlroof.map);
dlroof.before = dlroof.map(dlroof.content.before);
dlroof.mostArrows = 400;  // plain lines replace more arrows

dlroof.currentSweep = () => dlroof.parameters.find((sweep) => sweep.name === dlroof.state.sweep);

// The records on the lines of the drawn sweep; undefined without a sweep.
dlroof.sweptRecords = () => {
  const sweep = dlroof.currentSweep();
  return sweep === undefined ? undefined : new Set(sweep.lines.flatMap((line) => line.records));
};

dlroof.joint = (lines, colour, width) => ({
  type: 'scatter',
  mode: 'lines',
  x: lines.flatMap((line) => [...line.map((p) => p[0]), null]),
  y: lines.flatMap((line) => [...line.map((p) => p[1]), null]),
  hoverinfo: 'skip',
  line: {color: colour, width}
});

// A line per series and level, in the order of the parameter. `points`: { index, level, place }.
dlroof.parameterTraces = (points) => {
  const sweep = dlroof.currentSweep();
  if (sweep === undefined) return [];
  const places = new Map(points.map((p) => [`${p.index} ${p.level}`, p]));
  const traces = [];
  for (const level of dlroof.currentLevels()) {
    for (const line of sweep.lines) {
      const drawn = line.records.map((index) => places.get(`${index} ${dlroof.levelOf(dlroof.records[index], level)}`))
                        .filter((p) => p !== undefined);
      if (drawn.length > 1) traces.push(dlroof.joint([drawn.map((p) => p.place)], dlroof.markColour(drawn[0].record, level), 1.4));
    }
  }
  return traces;
};

// The points of one benchmark at several levels have the same height; a thin line joins them.
dlroof.levelTraces = (points, colours) => {
  if (dlroof.currentLevels().length < 2 || points.length > 1500) return [];
  const byRecord = new Map();
  for (const p of points) byRecord.set(p.index, [...(byRecord.get(p.index) || []), p.place]);
  return [dlroof.joint(
      [...byRecord.values()].filter((places) => places.length > 1).map((places) => places.sort((a, b) => a[0] - b[0])), colours.line, 1)];
};

// `placeOf(move, level)` returns the place of a point in the older file. Annotations need powers of ten.
dlroof.moveArrows = (points, placeOf, colours) => {
  const moves = points.map((p) => [placeOf(dlroof.map(dlroof.before[p.index]), p.level), p.place]).filter(([from]) => from !== undefined);
  if (moves.length > dlroof.mostArrows) return {traces: [dlroof.joint(moves, colours.soft, 0.8)], arrows: []};
  return {
    traces: [],
    arrows: moves.map(([from, to]) => ({
                        x: Math.log10(to[0]),
                        y: Math.log10(to[1]),
                        ax: Math.log10(from[0]),
                        ay: Math.log10(from[1]),
                        xref: 'x',
                        yref: 'y',
                        axref: 'x',
                        ayref: 'y',
                        text: '',
                        showarrow: true,
                        arrowhead: 2,
                        arrowsize: 1,
                        arrowwidth: 1.3,
                        standoff: 3,
                        arrowcolor: colours.soft
                      }))
  };
};

dlroof.classicBefore = (move, level) => {
  const entry = dlroof.list(move.classic).find((one) => one.level === level);
  return entry !== undefined && entry.intensity > 0 && entry.flops_per_second > 0 ? [entry.intensity, entry.flops_per_second] : undefined;
};

dlroof.timeBefore = (move, level) => dlroof.map(dlroof.map(move.time).places)[level];

dlroof.beforeNote = () => (Object.keys(dlroof.before).length > 0 ? ' Arrows: from the older run file to this one.' : '');
