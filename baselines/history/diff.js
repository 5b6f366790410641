'use strict';
// Two dates side by side: medians and their ratio, relative to the noise of the series. A hint where
// to look, not a verdict.
dlroof.times = new Map();
const dlroofTimes = (run, medians) => {
  dlroof.times.set(run, new Map(medians.map(([series, median, estimate]) => [series, {median, estimate: estimate === true}])));
};
dlroof.standsOut = 3;  // [1] multiple of the usual difference between two runs

dlroof.diffRows = (base, contender) => {
  const rows = [];
  dlroof.series.forEach((series, index) => {
    const [before, after] = [base.get(index), contender.get(index)];
    if (before === undefined && after === undefined) return;
    const known = before !== undefined && after !== undefined;
    const usual = dlroof.isNumber(series.deviation) ? Math.SQRT2 * series.deviation : undefined;
    const moved = known ? Math.abs(Math.log(after.median / before.median)) : -1;
    const estimate = known && (before.estimate || after.estimate);
    rows.push({
      index,
      before,
      after,
      known,
      usual,
      moved,
      estimate,
      far: known && !estimate && usual !== undefined && moved > dlroof.standsOut * Math.max(usual, 0.003)
    });
  });
  return rows.sort((a, b) => Number(b.far) - Number(a.far) || b.moved - a.moved || a.index - b.index);
};

dlroof.diffRow = (body, row) => {
  const line = dlroof.add(body, 'tr');
  const name = dlroof.add(line, 'td', 'name');
  const link = dlroof.add(name, 'button', 'link', dlroof.series[row.index].name);
  link.type = 'button';
  link.dataset.index = row.index;
  for (const one of [row.before, row.after])
    dlroof.add(line, 'td', 'number', one === undefined ? '' : dlroof.markOf(one.estimate) + dlroof.scaled(one.median, 's'));
  const ratio = row.known ? row.after.median / row.before.median : undefined;
  dlroof.add(
      line, 'td', `number ${row.far ? (ratio > 1 ? 'slower' : 'faster') : ''}`,
      row.known ? dlroof.markOf(row.estimate) + dlroof.changeText(ratio) : '');
  dlroof.add(line, 'td', 'number', row.usual === undefined ? '' : `${(row.usual * 100).toFixed(1)} %`);
  dlroof.add(line, 'td', '', row.known ? (row.far ? 'beyond the noise' : '') : (row.before === undefined ? 'only in new' : 'only in base'));
};

dlroof.drawDiff = async () => {
  const ends = ['base', 'new'].map((side) => Number(dlroof.byId(`diff-${side}`).value));
  const facts = dlroof.byId('diff-facts');
  try {
    await Promise.all(ends.map((run) => dlroof.load(`data/times-${dlroof.runs[run].id}.js`)));
  } catch (error) {
    facts.textContent = error.message;
    return;
  }
  const rows = dlroof.diffRows(...ends.map((run) => dlroof.times.get(dlroof.runs[run].id)));
  const common = rows.filter((row) => row.known).length;
  facts.textContent =
      `${common} benchmarks in both, ${rows.filter((row) => row.far).length} beyond their noise, ${rows.length - common} in only one`;
  dlroof.byId('diff-table').hidden = false;
  dlroof.drawRows(dlroof.byId('diff-body'), dlroof.byId('diff-more'), rows, dlroof.diffRow);
};

dlroof.fillDates = () => {
  const options =
      dlroof.runs.map((run, index) => [String(index), `${dlroof.dateText(run)} ${dlroof.commitText(run)} (${run.points})`]).reverse();
  for (const side of ['base', 'new']) dlroof.fillSelect(`diff-${side}`, options);
  dlroof.byId('diff-base').value = String(Math.max(0, dlroof.runs.length - 2));
  dlroof.byId('diff-new').value = String(dlroof.runs.length - 1);
};
