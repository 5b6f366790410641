# Run it with: reframe -c THIS_FILE --distribute=all -r
# A test for each node; its performance variables are the medians of its benchmarks. Afterwards, for all nodes:
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
NODE_IS_WHOLE = r'^(\S+): whole'


@rfm.simple_test
class DlroofNode(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    num_tasks = 1
    num_tasks_per_node = 1
    exclusive_access = True
    executable = DLROOF
    executable_opts = ['cluster', 'node', '--out', OUT, '--order', '{{order}}', '--', *ARGUMENTS]

    @run_before('run')
    def ask_for_a_whole_node(self):
        self.job.options += OPTIONS

    @sanity_function
    def node_is_whole(self):
        return sn.assert_found(NODE_IS_WHOLE, self.stderr)

    @run_before('performance')
    def take_medians(self):
        messages = os.path.join(self.stagedir, str(self.stderr))
        name = sn.evaluate(sn.extractsingle(NODE_IS_WHOLE, messages, 1))
        with open(os.path.join(OUT, 'nodes', name + '.json')) as file:
            records = json.load(file)['records']
        for record in records:
            if record['status'] == 'ok' and 'seconds' in record:
                self.perf_variables[record['name']] = sn.make_performance_function(
                    sn.defer(record['seconds']['median']), 's')
