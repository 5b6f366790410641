'use strict';
// The time-based roofline: a dot at the time that the roofs allow and a symbol at the measured time, on one diagonal. `places` of
// a record's `time` has its point by level; the larger coordinate is the measured time.
dlroof.mostDots = 2000;  // with more points the lines have no dots

dlroof.timePoints = (shown) => {
  const points = [];
  for (const index of shown) {
    const record = dlroof.records[index];
    const time = dlroof.map(record.time);
    if (!dlroof.onRoofs(record) || !dlroof.isNumber(time.compute_seconds) || time.compute_seconds <= 0) continue;
    for (const level of dlroof.currentLevels().map((one) => dlroof.levelOf(record, one))) {
      const memory = dlroof.map(time.memory_seconds)[level];
      if (!dlroof.isNumber(memory) || memory <= 0) continue;
      const complexity = [memory, time.compute_seconds];
      const point = dlroof.map(time.places)[level];
      points.push({
        index,
        record,
        level,
        place: point || complexity,
        entry: dlroof.list(record.classic).find((one) => one.level === level),
        complexity,
        point,
        limit: dlroof.list(time.unproved_levels).includes(level)
      });
    }
  }
  return points;
};

// Both axes have the same scale, so the machine balance is a line at 45 degrees.
dlroof.timeRanges = (element, points, boxes) => {
  const both = points.flatMap((p) => [p.complexity, ...(p.point ? [p.point] : [])]);
  const x = dlroof.rangeOf([...both.map((p) => p[0]), ...boxes], 0.3, 0.35);
  const y = dlroof.rangeOf([...both.map((p) => p[1]), ...boxes], 0.3, 0.35);
  const plane = dlroof.plane(element, x, y);
  const perPixel = Math.max((x[1] - x[0]) / plane.width, (y[1] - y[0]) / plane.height);
  const widen = (range, pixels) => {
    const more = (perPixel * pixels - (range[1] - range[0])) / 2;
    return [range[0] - more, range[1] + more];
  };
  return {x: widen(x, plane.width), y: widen(y, plane.height)};
};

dlroof.decades = (plane) => {
  const decades = [];
  for (let power = Math.ceil(Math.min(plane.x[0], plane.y[0])); power <= Math.max(plane.x[1], plane.y[1]); power += 1)
    decades.push(Number(`1e${power}`));
  return decades;
};

// The compute roof, if the same roof judges every point. Compute time is then proportional to FLOPs.
dlroof.sharedComputeRoof = (points) => {
  const judged = new Set(points.flatMap((p) => Object.values(dlroof.map(p.record.time.compute_roofs))));
  return judged.size === 1 ? dlroof.currentRoofs().flops.find((flat) => judged.has(flat.key)) : undefined;
};

dlroof.sharedMemoryRoof = (points) => {
  const levels = new Set(points.map((p) => p.level));
  return levels.size === 1 ? dlroof.currentRoofs().bytes.find((roof) => levels.has(roof.key)) : undefined;
};

dlroof.levelTitle = (points) => {
  const roof = dlroof.sharedMemoryRoof(points);
  return roof ? dlroof.levelName(roof.key) : 'memory';
};

// Lines of equal intensity are parallel to the machine balance: { offset [powers of ten above it], text }.
dlroof.intensities = (plane, points) => {
  const flat = dlroof.sharedComputeRoof(points);
  const slanted = dlroof.sharedMemoryRoof(points);
  const ridge = flat && slanted ? Math.log10(slanted.ridges[flat.key]) : 0;
  const guides = [];
  for (let power = Math.ceil(plane.y[0] - plane.x[1] + ridge); power <= plane.y[1] - plane.x[0] + ridge; power += 1) {
    guides.push(
        {offset: power - ridge, text: flat && slanted ? `${dlroof.digits(Number(`1e${power}`)).replace(/\.0+$/, '')} FLOP/byte` : ''});
  }
  return guides.filter((guide) => Math.abs(guide.offset) > 0.05);
};

// The same plane in what was done: seconds times the bandwidth, and times the one compute roof.
dlroof.workAxes = (layout, plane, points) => {
  const flat = dlroof.sharedComputeRoof(points);
  const slanted = dlroof.sharedMemoryRoof(points);
  const side = (name, where, range, title) => {
    layout[name] = {...dlroof.axis(title, range, 0), side: where, overlaying: name[0], showgrid: false};
    layout[name].minor = {...layout[name].minor};
  };
  const shifted = (range, rate) => range.map((one) => one + Math.log10(rate));
  const hidden = {type: 'scatter', mode: 'markers', x: [1], y: [1], hoverinfo: 'skip', opacity: 0, showlegend: false};
  const traces = [];
  if (slanted) {
    side('xaxis2', 'top', shifted(plane.x, slanted.per_second), `${dlroof.levelName(slanted.key)} bytes [B]`);
    traces.push({...hidden, xaxis: 'x2'});
  }
  if (flat) {
    side('yaxis2', 'right', shifted(plane.y, flat.per_second), `FLOPs at the ${flat.key} roof`);
    traces.push({...hidden, yaxis: 'y2'});
  }
  return traces;
};

// The added times of the pipes at their own ceilings, on the record's diagonal.
dlroof.pipeCrosses = (points, colours) => {
  const crosses = points.length > 300 ?
      [] :
      points.flatMap(
          (p) => dlroof.list(p.record.time.pipes_until).map((seconds) => [seconds * p.complexity[0] / p.complexity[1], seconds]));
  return {
    type: 'scatter',
    mode: 'markers',
    x: crosses.map((p) => p[0]),
    y: crosses.map((p) => p[1]),
    hoverinfo: 'skip',
    marker: {symbol: 'line-nw-open', size: 5, line: {width: 1}, color: colours.soft}
  };
};

dlroof.timeFar = [1e-18, 1e9];  // [s] outside every chart

dlroof.timeGuides = (plane, points, colours) => {
  const far = dlroof.timeFar;
  const isoX = [];
  const isoY = [];
  for (const time of dlroof.decades(plane)) {
    isoX.push(far[0], time, time, null);
    isoY.push(time, time, far[0], null);
  }
  const traces = [
    {type: 'scatter', mode: 'lines', x: isoX, y: isoY, hoverinfo: 'skip', line: {color: colours.line, width: 1.2}},
    {type: 'scatter', mode: 'lines', x: far, y: far, hoverinfo: 'skip', line: {color: colours.roof, width: 2}}
  ];
  const equal =
      dlroof.intensities(plane, points).map((guide) => [[far[0], far[0] * 10 ** guide.offset], [far[1], far[1] * 10 ** guide.offset]]);
  traces.unshift({...dlroof.joint(equal, colours.line, 1), line: {color: colours.line, width: 1, dash: 'dot'}});
  return traces;
};

// The launch overhead binds a call whose roof times are both inside the box.
dlroof.overheadBoxes = (boxes, colours) => boxes.map((box) => ({
                                                       type: 'rect',
                                                       layer: 'below',
                                                       x0: dlroof.timeFar[0],
                                                       y0: dlroof.timeFar[0],
                                                       x1: box,
                                                       y1: box,
                                                       fillcolor: colours.box,
                                                       line: {color: colours.warn, width: 1.3, dash: 'dash'}
                                                     }));

// The lines of slowdowns, dashed where a roof is not validated.
dlroof.slowdownLines = (points, limit, colours) => {
  const drawn = points.filter((p) => p.point && p.limit === limit);
  const line = (axis) => drawn.flatMap((p) => [p.complexity[axis], p.point[axis], null]);
  return {
    type: 'scatter',
    mode: 'lines',
    x: line(0),
    y: line(1),
    hoverinfo: 'skip',
    line: {color: colours.faint, width: points.length > 300 ? 0.5 : 1, dash: limit ? 'dash' : 'solid'}
  };
};

dlroof.timeTraces = (points, colours) => {
  const located = points.filter((p) => p.point);
  const hover = (list) => list.map(
      (p) => `${dlroof.hoverText(p.record, p.level, p.entry)}<br>roof times: compute ${dlroof.scaled(p.complexity[1], 's')}, ` +
          `${dlroof.levelName(p.level)} ${dlroof.scaled(p.complexity[0], 's')}` +
          (dlroof.isNumber(p.record.time.overhead_seconds) ? `, overhead ${dlroof.scaled(p.record.time.overhead_seconds, 's')}` : ''));
  const marks = (list, where, marker) => ({
    type: 'scatter',
    mode: 'markers',
    x: list.map((p) => where(p)[0]),
    y: list.map((p) => where(p)[1]),
    customdata: list.map((p) => p.index),
    text: hover(list),
    hovertemplate: '%{text}<extra></extra>',
    marker
  });
  return [
    dlroof.slowdownLines(points, false, colours), dlroof.slowdownLines(points, true, colours),
    marks(
        points.length > dlroof.mostDots ? [] : points, (p) => p.complexity,
        {symbol: 'circle', size: 4.5, color: points.map((p) => dlroof.markColour(p.record, p.level))}),
    marks(
        located, (p) => p.point,
        dlroof.markerStyle(
            located.length, located.map((p) => dlroof.symbol(p.record, dlroof.isMeasured(p.entry))),
            located.map((p) => dlroof.markColour(p.record, p.level)), located.map((p) => dlroof.isNoisy(p.record))))
  ];
};

dlroof.timeLabels = (plane, points, boxes, colours) => {
  const labels = [];
  const atEdge = (guide) => {
    const half = guide.text.length * dlroof.letter / 2;
    const right = Math.min(plane.x[1], plane.y[1] - guide.offset);
    const left = (right - plane.x[0]) / (plane.x[1] - plane.x[0]) * plane.width;
    const top = (plane.y[1] - right - guide.offset) / (plane.y[1] - plane.y[0]) * plane.height;
    return [1, 1.6].map((along) => ({left: left - along * half - 6, top: top + along * half + 6 - 8, angle: -45}));
  };
  const corner = (value, text, colour) => {
    const half = text.length * dlroof.letter / 2;
    const [left, top] = [plane.left(value), plane.top(value)];
    labels.push({
      text,
      colour,
      places: [
        {left: left + half + 6, top: top - 2, angle: 0}, {left: left - half - 4, top: top - 9, angle: 0},
        {left: left + half + 4, top: top + 10, angle: 0}
      ]
    });
  };
  for (const box of boxes) {
    const text = `overhead ${dlroof.scaled(box, 's')}`;
    const half = text.length * dlroof.letter / 2;
    labels.push({
      text,
      colour: colours.warn,
      places: [
        ...dlroof.alongLevel({...plane, width: Math.min(plane.left(box), plane.width)}, box, 0, text).reverse(),
        {left: half + 4, top: plane.top(box) - 9, angle: 0}
      ]
    });
  }
  for (const time of dlroof.decades(plane)) corner(time, dlroof.scaled(time, 's').replace(/\.0+ /, ' '), colours.soft);
  for (const guide of dlroof.intensities(plane, points))
    if (guide.text !== '') labels.push({text: guide.text, colour: colours.faint, bare: true, places: atEdge(guide)});
  labels.push(
      {text: 'compute bound', colour: colours.faint, bare: true, places: [{left: 60, top: 16, angle: 0}, {left: 60, top: 34, angle: 0}]});
  labels.push({
    text: `${dlroof.levelTitle(points)} bandwidth bound`,
    colour: colours.faint,
    bare: true,
    places: [14, 32].map((up) => ({left: plane.width - 75, top: plane.height - up, angle: 0}))
  });
  return labels;
};

dlroof.drawTime = (shown) => {
  const element = dlroof.byId('time');
  const points = dlroof.timePoints(shown);
  const caption = dlroof.byId('time-caption');
  element.hidden = points.length === 0;
  if (points.length === 0) {
    caption.textContent = 'Nothing to draw: no shown benchmark has a time, FLOPs, bytes of this level and both ceilings.';
    return;
  }
  const overheads =
      [...new Set(points.map((p) => p.record.time.overhead_seconds).filter((value) => dlroof.isNumber(value) && value > 0))].sort(
          (a, b) => a - b);
  const boxes = overheads.length <= 4 ? overheads : [overheads[0], overheads[overheads.length - 1]];
  dlroof.draw(element, dlroof.timeRanges(element, points, boxes), (plane) => {
    const colours = dlroof.palette();
    const moves = dlroof.moveArrows(points.filter((p) => p.point), dlroof.timeBefore, colours);
    const traces = [
      ...dlroof.timeGuides(plane, points, colours), ...dlroof.parameterTraces(points.filter((p) => p.point)), ...moves.traces,
      ...dlroof.timeTraces(points, colours), dlroof.pipeCrosses(points, colours)
    ];
    const layout = dlroof.layout(`${dlroof.levelTitle(points)} time [s]`, 'compute time [s]', plane, 0);
    layout.xaxis.showgrid = false;
    layout.yaxis.showgrid = false;
    layout.shapes = dlroof.overheadBoxes(boxes, colours);
    traces.push(...dlroof.workAxes(layout, plane, points));
    return {
      arrows: moves.arrows,
      traces,
      layout,
      labels: dlroof.timeLabels(plane, points, boxes, colours),
      marks: points.map((p) => [p.index, p.point || p.complexity])
    };
  });
  caption.textContent =
      `${dlroof.drawnText(points, shown)} ${points.length > dlroof.mostDots ? 'Lower end of a line' : 'Dot'}: the time its roofs allow; ` +
      'symbol: the measured time; the line between them is the time over what these roofs allow. ' +
      'Grey corners: equal run time; diagonal: machine balance; dotted: equal intensity; dashed box: launch overhead.' +
      (points.some((p) => p.limit) ? ' A dashed line is a lower limit: a roof is not validated.' : '') +
      (points.some((p) => dlroof.list(p.record.time.pipes_until).length > 0) ?
           ' Ticks on a line: the added times of the pipes at their own ceilings.' :
           '') +
      (dlroof.map(dlroof.map(dlroof.map(dlroof.content.context).dlroof).view).balance === 'tensor' ?
           ' The matrix ceiling judges all FLOPs.' :
           '') +
      dlroof.beforeNote();
};
