'use strict';
// Bandwidth by working set: one chart per machine, with a curve per number of threads and the capacities of the caches.
// A chart is drawn when it is scrolled into view.
dlroof.sweeps = [];  // { element, draw, drawn }

// The curves, most threads first, by working set, without points that a logarithmic axis cannot show.
dlroof.sweepCurves = (machine) =>
    Object.entries(dlroof.map(machine.by_threads))
        .map(([threads, set]) => ({
               threads,
               points: dlroof.list(dlroof.map(set).sweep)
                           .filter((p) => Array.isArray(p) && p.length === 2 && p.every((one) => dlroof.isNumber(one) && one > 0))
                           .sort((a, b) => a[0] - b[0])
             }))
        .filter((curve) => curve.points.length > 0)
        .sort((a, b) => Number(b.threads) - Number(a.threads));

// Ticks at powers of two, as many as fit: 4096 -> '4 KiB'.
dlroof.binaryTicks = (plane) => {
  const [from, to] = plane.x.map((power) => power / Math.log10(2));
  const step = [1, 2, 4, 8].find((one) => (to - from) / one * 62 <= plane.width) || 16;
  const powers = [];
  for (let power = Math.ceil(from / step) * step; power <= to; power += step) powers.push(power);
  const name = (power) => {
    const unit = Math.max(0, Math.min(4, Math.floor(power / 10)));
    return `${2 ** (power - 10 * unit)} ${['byte', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
  };
  return {tickmode: 'array', tickvals: powers.map((power) => 2 ** power), ticktext: powers.map(name), minor: {ticks: ''}};
};

dlroof.sweepColour = (index, colours) => colours.series[index % colours.series.length];

dlroof.sweepLabels = (plane, curves, caches, colours) =>
    [...caches.map(([level, bytes]) => {
      const text = `${dlroof.levelName(level)} ${dlroof.capacity(bytes).replace(/\.0+ /, ' ')}`;
      const half = text.length * dlroof.letter / 2;
      const [right, left] = [plane.left(bytes) + half + 4, plane.left(bytes) - half - 4];
      return {text, colour: colours.soft, places: [12, 26].flatMap((top) => [{left: right, top, angle: 0}, {left, top, angle: 0}])};
    }),
     ...curves.map(
         (curve, index) => ({
           text: dlroof.threadsText(curve.threads),
           colour: dlroof.sweepColour(index, colours),
           places: curve.points.flatMap((p) => [-12, 12].map((down) => ({left: plane.left(p[0]), top: plane.top(p[1]) + down, angle: 0})))
         }))];

dlroof.sweepTraces = (curves, colours) => curves.map(
    (curve, index) => ({
      type: 'scatter',
      mode: 'lines+markers',
      x: curve.points.map((p) => p[0]),
      y: curve.points.map((p) => p[1]),
      line: {color: dlroof.sweepColour(index, colours), width: 1.8},
      marker: {symbol: 'circle', size: 4.5, color: dlroof.sweepColour(index, colours)},
      text: curve.points.map(
          (p) => `${dlroof.escape(dlroof.threadsText(curve.threads))}: ${dlroof.capacity(p[0])} per thread, ${dlroof.scaled(p[1], 'B/s')}`),
      hovertemplate: '%{text}<extra></extra>'
    }));

dlroof.drawSweep = (element, curves, caches) => {
  const points = curves.flatMap((curve) => curve.points);
  const ranges = {x: dlroof.rangeOf(points.map((p) => p[0]), 0.08, 0.08), y: dlroof.rangeOf(points.map((p) => p[1]), 0.2, 0.25)};
  dlroof.draw(element, ranges, (plane) => {
    const colours = dlroof.palette();
    const layout = dlroof.layout('working set of one thread', 'bandwidth of all threads [B/s]', plane, 0);
    layout.xaxis = {...layout.xaxis, ...dlroof.binaryTicks(plane), showgrid: false};
    layout.shapes = caches.map(([, bytes]) => ({
                                 type: 'line',
                                 layer: 'below',
                                 x0: bytes,
                                 x1: bytes,
                                 yref: 'paper',
                                 y0: 0,
                                 y1: 1,
                                 line: {color: colours.soft, width: 1.4, dash: 'dot'}
                               }));
    return {
      traces: dlroof.sweepTraces(curves, colours),
      layout,
      labels: dlroof.sweepLabels(plane, curves, caches, colours),
      marks: points.map((p) => [undefined, p])
    };
  });
};

// Adds the comparison of the curves with the cache sizes.
dlroof.addEdges = (parent, machine) => {
  const found = Object.entries(dlroof.map(machine.by_threads))
                    .sort((a, b) => Number(b[0]) - Number(a[0]))
                    .flatMap(
                        ([threads, set]) =>
                            Object.entries(dlroof.map(dlroof.map(set).edges)).map(([level, edge]) => [threads, level, dlroof.map(edge)]))
                    .filter(([, , edge]) => dlroof.text(edge.text) !== '');
  if (found.length === 0) return;
  const list = dlroof.add(parent, 'ul', 'edges');
  for (const [threads, level, edge] of found)
    dlroof.add(
        list, 'li', edge.disagrees === true ? 'disagrees' : '', `${dlroof.levelName(level)}, ${dlroof.threadsText(threads)}: ${edge.text}`);
};

dlroof.addSweep = (parent, machine) => {
  const curves = dlroof.sweepCurves(machine);
  if (curves.length > 0) {
    const figure = dlroof.add(parent, 'figure', 'sweep');
    dlroof.add(figure, 'h3', '', 'Bandwidth by working set');
    const element = dlroof.add(figure, 'div', 'chart');
    element.id = `sweep-${dlroof.sweeps.length}`;
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', 'Bandwidth by working set of one thread, a line for each number of threads');
    const caches = dlroof.byLevel(machine.cache_bytes).filter(([, bytes]) => dlroof.isNumber(bytes) && bytes > 0);
    const names = caches.map(([level]) => dlroof.levelName(level)).join(', ');
    dlroof.add(
        figure, 'figcaption', '',
        `Loads, a line for each number of threads.${
            names === '' ? '' : ` Dotted: capacity of ${names}; threads that share a cache divide it among them.`}`);
    dlroof.sweeps.push({element, drawn: false, draw: () => dlroof.drawSweep(element, curves, caches)});
  }
  dlroof.addEdges(parent, machine);
};

dlroof.drawOneSweep = (sweep) => {
  sweep.drawn = true;
  sweep.draw();
};

// Called after a change of width or colours. A printed page has all charts.
dlroof.redrawSweeps = () => {
  if (!dlroof.chartsReady) return;
  for (const sweep of dlroof.sweeps)
    if (sweep.drawn || dlroof.printing) dlroof.drawOneSweep(sweep);
};

dlroof.watchSweeps = () => {
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const sweep = dlroof.sweeps.find((one) => one.element === entry.target);
      if (!entry.isIntersecting || sweep.drawn) continue;
      watch.unobserve(entry.target);
      dlroof.drawOneSweep(sweep);
    }
  }, {rootMargin: '300px'});
  for (const sweep of dlroof.sweeps) watch.observe(sweep.element);
  // The other charts are drawn one by one later, for fast scrolling and for saved pages.
  const drawNext = () => {
    const next = dlroof.sweeps.find((one) => !one.drawn && one.element.clientWidth > 0);
    if (next === undefined) return;
    watch.unobserve(next.element);
    dlroof.drawOneSweep(next);
    setTimeout(drawNext, 50);
  };
  setTimeout(drawNext, 2000);
};
