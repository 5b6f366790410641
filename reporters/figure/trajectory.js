'use strict';
// Trajectories: arrows from low to high concurrency, or along a size, under the roofs of each number of threads.
dlroof.trajectories = dlroof.list(dlroof.content.trajectories).map(dlroof.map);

// The trajectories with an arrow, and the farthest of their levels, whose roof is drawn.
dlroof.drawnTrajectories = () => {
  const level = Object.keys(dlroof.levelNames).filter((one) => dlroof.trajectories.some((other) => other.level === one)).pop();
  const placed = (one) => dlroof.list(one.points).map(dlroof.map).filter((point) => Array.isArray(point.place));
  return {
    level,
    lines: dlroof.trajectories.filter((one) => one.level !== undefined)
               .map((one) => ({one, points: placed(one)}))
               .filter((line) => line.points.length > 1)
  };
};

// The roofs of each number of threads with a point, most threads first.
dlroof.trajectoryRoofs = (lines) => {
  const threads = new Set(lines.flatMap((line) => line.points.map((point) => point.threads)));
  const devices = new Set(lines.flatMap((line) => line.points.map((point) => dlroof.records[point.record].device)));
  return dlroof.roofs.filter((roofs) => threads.has(roofs.threads) && devices.has(roofs.device));
};

dlroof.trajectoryRoofLines = (sets, level, colours) => sets.flatMap((roofs, index) => {
  const flats = roofs.flops.filter((flat) => roofs.used.includes(flat.key));
  const slanted = roofs.bytes.find((roof) => roof.key === level);
  const lines = flats.map(
      (flat) => ({
        roof: flat,
        unit: 'FLOP/s',
        flat: true,
        line:
            [[slanted === undefined ? 1 / dlroof.farRight : slanted.ridges[flat.key], flat.per_second], [dlroof.farRight, flat.per_second]]
      }));
  if (slanted !== undefined)
    lines.push({
      roof: slanted,
      unit: 'B/s',
      flat: false,
      line: [slanted.start, flats.length > 0 ? [slanted.ridges[flats[0].key], flats[0].per_second] : [dlroof.farRight, slanted.start[1]]]
    });
  const named = index === 0 || index === sets.length - 1;
  return lines.map(
      (one) => ({
        ...one,
        named,
        threads: roofs.threads,
        trace: {
          ...dlroof.roofLine(one.line, one.roof, index === 0, colours),
          line: {color: index === 0 ? colours.roof : colours.faint, width: index === 0 ? 1.4 : 1, dash: dlroof.dashOf(one.roof)}
        }
      }));
});

dlroof.mostLabelled = 6;  // trajectories with labels at their ends

dlroof.trajectoryLabels = (plane, lines, roofs, colours) => {
  const labels = lines.length > dlroof.mostLabelled ?
      [] :
      lines.flatMap((line, index) => [line.points[0], line.points[line.points.length - 1]].map((point) => {
        const [left, top] = [plane.left(point.place[0]), plane.top(point.place[1])];
        return {
          text: line.one.along === 'threads' ? dlroof.threadsText(point.value) :
                                               `${dlroof.text(line.one.along)} ${dlroof.text(point.value)}`,
          colour: dlroof.sweepColour(index, colours),
          bare: true,
          places: [[11, -6], [11, 8], [-11, -6], [-11, 8]].map(([right, down]) => ({left: left + right, top: top + down, angle: 0}))
        };
      }));
  for (const one of roofs.filter((roof) => roof.named)) {
    const text = `${one.flat ? one.roof.key : dlroof.levelName(one.roof.key)}  ${dlroof.scaled(one.roof.per_second, one.unit)}, ${
        dlroof.threadsText(one.threads)}`;
    labels.push({
      text,
      colour: colours.soft,
      places: one.flat ? dlroof.alongLevel(plane, one.roof.per_second, plane.left(one.line[0][0]), text) :
                         [...dlroof.alongRising(plane, one.line, text, -1), ...dlroof.alongRising(plane, one.line, text, 1)]
    });
  }
  return labels;
};

dlroof.trajectoryTraces = (lines, colours) => lines.map(
    (line, index) => ({
      type: 'scatter',
      mode: 'lines+markers',
      x: line.points.map((p) => p.place[0]),
      y: line.points.map((p) => p.place[1]),
      line: {color: dlroof.sweepColour(index, colours), width: 1.4},
      customdata: line.points.map((p) => p.record),
      marker:
          {symbol: 'circle', size: 7, color: dlroof.sweepColour(index, colours), opacity: line.points.map((p) => (p.disturbed ? 0.35 : 1))},
      text: line.points.map(
          (p) => dlroof.hoverText(
              dlroof.records[p.record], line.one.level,
              dlroof.list(dlroof.records[p.record].classic).find((entry) => entry.level === line.one.level))),
      hovertemplate: '%{text}<extra></extra>'
    }));

// Arrows between successive points. Annotations need powers of ten.
dlroof.trajectoryArrows = (lines, colours) =>
    lines.flatMap((line, index) => line.points.slice(1).map((to, i) => ({
                                                              x: Math.log10(to.place[0]),
                                                              y: Math.log10(to.place[1]),
                                                              ax: Math.log10(line.points[i].place[0]),
                                                              ay: Math.log10(line.points[i].place[1]),
                                                              xref: 'x',
                                                              yref: 'y',
                                                              axref: 'x',
                                                              ayref: 'y',
                                                              text: '',
                                                              showarrow: true,
                                                              arrowhead: 2,
                                                              arrowsize: 1,
                                                              arrowwidth: 1.4,
                                                              standoff: 4,
                                                              arrowcolor: dlroof.sweepColour(index, colours)
                                                            })));

dlroof.drawTrajectoryChart = (element) => {
  const {level, lines} = dlroof.drawnTrajectories();
  const sets = dlroof.trajectoryRoofs(lines);
  const points = lines.flatMap((line) => line.points);
  const flats = sets.flatMap((roofs) => roofs.flops.filter((flat) => roofs.used.includes(flat.key)));
  const ridges = sets.flatMap(
      (roofs) => roofs.bytes.filter((roof) => roof.key === level).flatMap((roof) => roofs.used.map((key) => roof.ridges[key])));
  const ranges = {
    x: dlroof.rangeOf([...points.map((p) => p.place[0]), ...ridges], 0.6, 0.9),
    y: dlroof.rangeOf([...points.map((p) => p.place[1]), ...flats.map((flat) => flat.per_second)], 0.35, 0.3)
  };
  dlroof.draw(element, ranges, (plane) => {
    const colours = dlroof.palette();
    const roofs = dlroof.trajectoryRoofLines(sets, level, colours);
    return {
      traces: [...roofs.map((one) => one.trace), ...dlroof.trajectoryTraces(lines, colours)],
      arrows: dlroof.trajectoryArrows(lines, colours),
      labels: dlroof.trajectoryLabels(plane, lines, roofs, colours),
      marks: points.map((p) => [p.record, p.place]),
      layout: dlroof.layout('intensity [FLOP/byte]', 'performance [FLOP/s]', plane, 3)
    };
  });
};

// A sentence for each trajectory; the chart is drawn when it is scrolled into view.
dlroof.drawTrajectories = () => {
  if (dlroof.trajectories.length === 0) return;
  dlroof.byId('trajectories-section').hidden = false;
  const {level, lines} = dlroof.drawnTrajectories();
  const element = dlroof.byId('trajectories');
  const caption = dlroof.byId('trajectories-caption');
  element.hidden = lines.length === 0;
  caption.textContent = lines.length === 0 ?
      'No trajectory has two points with FLOPs, bytes and ceilings.' :
      `Bytes of ${dlroof.levelName(level)}${
          lines.some((line) => line.one.level !== level) ? ' or the cache that holds the tensors' : ''}. ` +
          `Arrows: to more ${dlroof.text(dlroof.trajectories[0].along)}. ` +
          'Roofs of each number of threads; dashed: not validated. Pale: noisy, the time is an estimate.';
  const list = dlroof.byId('trajectories-list');
  for (const one of dlroof.trajectories) {
    const item = dlroof.add(list, 'li');
    const index = lines.findIndex((line) => line.one === one);
    if (index >= 0) item.append(dlroof.symbolPicture('circle', dlroof.sweepColour(index, dlroof.palette())), ' ');
    dlroof.addBreakable(dlroof.add(item, 'span', 'name'), dlroof.text(one.label));
    item.append(`: ${dlroof.text(one.sentence)}`);
  }
  if (lines.length > 0) dlroof.sweeps.push({element, drawn: false, draw: () => dlroof.drawTrajectoryChart(element)});
};
