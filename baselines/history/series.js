'use strict';
// One series: points and levels over time, changes, and noise. Points are in a separate file.
dlroof.chunks = new Map();
const dlroofSeries = (chunk, all) => {
  dlroof.chunks.set(chunk, all);
};

// Loads each script once. A page from file:// may load scripts, but cannot fetch other files.
dlroof.loaded = new Map();
dlroof.load = (path) => {
  if (!dlroof.loaded.has(path)) {
    dlroof.loaded.set(path, new Promise((done, failed) => {
                        const script = document.createElement('script');
                        script.src = path;
                        script.onload = done;
                        script.onerror = () => failed(new Error(`${path} could not be read`));
                        document.head.append(script);
                      }));
  }
  return dlroof.loaded.get(path);
};

dlroof.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

dlroof.layout = (more) => ({
  margin: {l: 62, r: 14, t: 10, b: 42},
  showlegend: false,
  hovermode: 'closest',
  paper_bgcolor: 'rgba(0,0,0,0)',
  plot_bgcolor: 'rgba(0,0,0,0)',
  modebar: {bgcolor: 'rgba(0,0,0,0)', color: dlroof.colour('--soft'), activecolor: dlroof.colour('--accent')},
  font: {family: 'system-ui, sans-serif', size: 12, color: dlroof.colour('--ink')},
  ...more
});
dlroof.axis = (more) =>
    ({gridcolor: dlroof.colour('--line'), zerolinecolor: dlroof.colour('--line'), linecolor: dlroof.colour('--line'), ...more});
dlroof.chartOptions = {
  displaylogo: false,
  responsive: true,
  modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']]
};

// Returns the unit prefix of the time axis for a time in seconds.
dlroof.unitOf = (seconds) => dlroof.prefixes.find(([scale]) => seconds >= scale * 0.9995) || dlroof.prefixes[dlroof.prefixes.length - 1];

dlroof.dateOf = (run) => dlroof.text(dlroof.runs[run].date) || run;

dlroof.drawSeriesChart = (series, points) => {
  const estimates = points.estimates || {run: []};
  const [scale, prefix] = dlroof.unitOf(series.last || points.median[0] || estimates.median[0]);
  const scaled = (values) => values.map((value) => (value === null ? null : value / scale));
  const outlier = new Set(points.outliers);
  const hover = (times, mark) => times.run.map(
      (run, i) => `<b>${mark}${dlroof.escape(dlroof.scaled(times.median[i], 's'))}</b>${
                      times.low[i] === null ? '' : ` (${dlroof.escape(dlroof.interval([times.low[i], times.high[i]], 's'))})`}` +
          `<br>${dlroof.escape(dlroof.dateText(dlroof.runs[run]))} ${dlroof.escape(dlroof.commitText(dlroof.runs[run]))}<br>${
                      times.clean[i]} of ${times.of[i]} repetitions clean`);
  const markers = (times, mark, marker) => ({
    type: 'scatter',
    mode: 'markers',
    x: times.run.map(dlroof.dateOf),
    y: scaled(times.median),
    hovertext: hover(times, mark),
    hoverinfo: 'text',
    marker,
    error_y: {
      type: 'data',
      symmetric: false,
      width: 0,
      thickness: 1,
      color: dlroof.colour('--soft'),
      array: times.high.map((high, i) => (high === null ? 0 : (high - times.median[i]) / scale)),
      arrayminus: times.low.map((low, i) => (low === null ? 0 : (times.median[i] - low) / scale))
    }
  });
  const colours = points.run.map((run, i) => dlroof.colour(outlier.has(i) ? '--warn' : '--accent'));
  const traces = [markers(points, '', {size: 5, color: colours})];
  if (estimates.run.length > 0)
    traces.push(markers(estimates, dlroof.markOf(true), {size: 5, color: dlroof.colour('--accent'), opacity: 0.35}));
  for (const [from, to, median] of series.levels) {
    traces.push({
      type: 'scatter',
      mode: 'lines',
      x: [dlroof.dateOf(from), dlroof.dateOf(to)],
      y: [median / scale, median / scale],
      hoverinfo: 'skip',
      line: {color: dlroof.colour('--ink'), width: 2}
    });
  }
  const shapes = series.changes.map((change) => ({
                                      type: 'line',
                                      xref: 'x',
                                      yref: 'paper',
                                      x0: dlroof.dateOf(change.run),
                                      x1: dlroof.dateOf(change.run),
                                      y0: 0,
                                      y1: 1,
                                      line: {color: dlroof.colour(change.ratio > 1 ? '--bad' : '--good'), width: 1, dash: 'dot'}
                                    }));
  const notes = series.changes.map((change) => ({
                                     xref: 'x',
                                     yref: 'paper',
                                     x: dlroof.dateOf(change.run),
                                     y: 1,
                                     xanchor: 'left',
                                     yanchor: 'top',
                                     showarrow: false,
                                     text: dlroof.changeText(change.ratio),
                                     font: {size: 11, color: dlroof.colour(change.ratio > 1 ? '--bad' : '--good')}
                                   }));
  Plotly.react(
      dlroof.byId('series-chart'), traces, dlroof.layout({
        shapes,
        annotations: notes,
        xaxis: dlroof.axis({}),
        yaxis: dlroof.axis({title: {text: `time [${prefix}s]`}, rangemode: 'normal'})
      }),
      dlroof.chartOptions);
};

dlroof.showNoise = (series, points) => {
  if (series.levels.length === 0) {
    dlroof.byId('noise-facts').textContent = series.spark.length > 0 ?
        'Only estimates (~, drawn pale): in no run were enough repetitions clean, and estimates make no levels and no changes.' :
        `No run has a time; the newest: ${dlroof.text(series.reason)}.`;
    return;
  }
  const facts = !dlroof.isNumber(series.deviation) ? ['Too few runs to estimate the noise'] : [
    `Noise of ${(series.deviation * 100).toFixed(2)} % from run to run`,
    `${points.outliers.length} outlier${points.outliers.length === 1 ? '' : 's'} that returned`
  ];
  if (dlroof.isNumber(series.drift)) facts.push(`drifts by ${dlroof.changeText(series.drift)} over its runs`);
  dlroof.byId('noise-facts').textContent = `${facts.join(', ')}.`;
};

dlroof.drawLevels = (series) => {
  const body = dlroof.byId('levels');
  body.replaceChildren();
  series.levels.forEach(([from, , median], i) => {
    const row = dlroof.add(body, 'tr');
    const run = dlroof.runs[from];
    const date = dlroof.add(row, 'td', '', `${dlroof.dateText(run)} `);
    dlroof.addRunLink(date, run);
    dlroof.add(row, 'td', 'mono', dlroof.commitText(run));
    dlroof.add(row, 'td', 'number', dlroof.scaled(median, 's'));
    const change = i > 0 ? series.changes[i - 1] : undefined;
    if (change === undefined) dlroof.add(row, 'td', 'number', '');
    else dlroof.addChange(row, 'td', change.ratio);
    const confirmed = change === undefined ? '' : change.runs === 1 ? 'unconfirmed, 1 run' : `confirmed by ${change.runs} runs`;
    dlroof.add(row, 'td', 'note', [confirmed, change === undefined ? '' : dlroof.text(change.why)].filter((one) => one).join(': '));
  });
};

dlroof.openSeries = async (index) => {
  const series = dlroof.series[index];
  dlroof.shownSeries = index;
  for (const row of dlroof.byId('list-body').rows) row.setAttribute('aria-selected', String(Number(row.dataset.index) === index));
  dlroof.byId('series-section').hidden = false;
  dlroof.byId('series-title').textContent = series.name;
  dlroof.byId('series-facts').textContent = [dlroof.settingText(series), `${series.points} runs`].filter((one) => one).join(' · ');
  dlroof.drawLevels(series);
  history.replaceState(null, '', `#series=${series.id}`);
  dlroof.byId('series-chart').hidden = series.spark.length === 0;
  dlroof.byId('levels-table').hidden = series.levels.length === 0;
  if (series.spark.length === 0) {
    dlroof.showNoise(series);
    return;
  }
  try {
    await Promise.all([dlroof.load('plotly.js'), dlroof.load(`data/series-${series.chunk}.js`)]);
  } catch (error) {
    dlroof.byId('series-facts').textContent = error.message;
    return;
  }
  if (dlroof.shownSeries !== index) return;
  const points = dlroof.chunks.get(series.chunk)[series.id];
  dlroof.drawSeriesChart(series, points);
  dlroof.showNoise(series, points);
  document.documentElement.dataset.drawn = 'yes';
};

dlroof.closeSeries = () => {
  dlroof.shownSeries = undefined;
  dlroof.byId('series-section').hidden = true;
  for (const row of dlroof.byId('list-body').rows) row.setAttribute('aria-selected', 'false');
  history.replaceState(null, '', location.pathname + location.search);
};
