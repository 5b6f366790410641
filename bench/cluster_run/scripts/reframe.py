# Run it with: reframe -c THIS_FILE --distribute=all -r
# A test for each node; its performance variables are the medians of its benchmarks, of each GPU where each has a process. Afterwards, for all nodes:
#     {{dlroof_text}} cluster gather {{out_text}} -o cluster.json
# {{nodes}} nodes were asked for; ReFrame takes those that its configuration and --distribute give it.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn

OUT = {{out}}
DLROOF = {{dlroof}}
ARGUMENTS = {{arguments}}
OPTIONS = {{options}}
GPUS = {{gpus}}  # processes of a node, each with a GPU of its own; 0: one, with all of them
NODE_IS_WHOLE = r'^(\S+): whole'


@rfm.simple_test
class DlroofNode(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    num_tasks = {{tasks}}
    num_tasks_per_node = {{tasks}}
    exclusive_access = True
    executable = DLROOF
    executable_opts = ['cluster', 'node', '--out', OUT, '--order', '{{order}}', *(['--per-gpu'] if GPUS else []), '--', *ARGUMENTS]

    @run_before('run')
    def ask_for_a_whole_node(self):
        self.job.options += OPTIONS

    @sanity_function
    def node_is_whole(self):
        return sn.assert_eq(sn.count(sn.findall(NODE_IS_WHOLE, self.stderr)), self.num_tasks)

    @run_before('performance')
    def take_medians(self):
        messages = os.path.join(self.stagedir, str(self.stderr))
        for name in sn.evaluate(sn.extractall(NODE_IS_WHOLE, messages, 1)):
            unit = name.rsplit('-', 1)[1] + '/' if GPUS else ''
            with open(os.path.join(OUT, 'nodes', name + '.json')) as file:
                records = json.load(file)['records']
            for record in records:
                if record['status'] == 'ok' and 'seconds' in record:
                    self.perf_variables[unit + record['name']] = sn.make_performance_function(
                        sn.defer(record['seconds']['median']), 's')
