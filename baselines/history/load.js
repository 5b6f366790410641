'use strict';
// Loads the roofline of one run: `?run=ID` names its data file, loaded before the page's scripts run. Without it opens the list of runs.
const dlroofRun = (machines, content) => {
  dlroofRun.content = content;
  document.write(
      `<script src="data/machines-${machines}.js"></` +
      'script>');
};
const dlroofMachines = (machines) => {
  dlroofRun.content.machines = machines;
  document.getElementById('content').textContent = JSON.stringify(dlroofRun.content);
};
(() => {
  const nav = document.createElement('nav');
  nav.className = 'dates';
  const link = document.createElement('a');
  link.href = 'index.html';
  link.textContent = '← all runs';
  nav.append(link);
  document.body.prepend(nav);
  const run = new URLSearchParams(location.search).get('run') || '';
  if (/^[0-9]+$/.test(run))
    document.write(
        `<script src="data/run-${run}.js"></` +
        'script>');
  else location.replace('index.html#runs-title');
})();
