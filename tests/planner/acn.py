"""Plans the charging of a month at Caltech with our planner, and prints the share of demand that it meets: `acn.py PROGRAM EVENTS [KW...]`.

PROGRAM is the example `plan` of the crate `planner`; EVENTS is the file of the experiment 2.1 "Comparing algorithms with constrained
infrastructure" of caltech-netlab/acnportal-experiments. As there, one phase of 208 V is behind one limit; every five minutes the vehicles that
are plugged in are planned with what is known of them by then. Without capacities in kW it takes those of the experiment, of which it
publishes the means: 96.86 % of the demand met by least laxity first, 96.89 % by its model predictive control, 96.96 % with hindsight. The
least laxity first of acnportal runs beside the planner. Later arrivals are not known, so the plan's prices ask for the energy of vehicles with little
time to spare first.
"""

import copy
import datetime
import gzip
import json
import subprocess
import sys
import warnings

import pytz
from acnportal import acnsim, algorithms
from acnportal.acnsim import analysis

PERIOD, VOLTAGE = 5, 208
MILLIWATT_HOURS = VOLTAGE * 1_000 * PERIOD / 60  # of one ampere in one period


class Planner(algorithms.BaseAlgorithm):
    """Gives each vehicle what the first slot of the plan has."""

    def __init__(self, program, capacity):
        super().__init__()
        self.max_recompute = 1
        self.capacity = int(capacity * 1e6 * PERIOD / 60)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rate(self, session):
        """Amperes at most."""
        return min(session.max_rates[0], self.interface.max_pilot_signal(session.station_id))

    def laxity(self, session):
        """The periods that a vehicle can wait."""
        needed = session.remaining_demand * 1e6 / (self.rate(session) * MILLIWATT_HOURS)
        return session.estimated_departure - self.interface.current_time - needed

    def schedule(self, active_sessions):
        if not active_sessions:
            return {}
        now = self.interface.current_time
        slots = max(session.estimated_departure for session in active_sessions) - now
        ranked = sorted(active_sessions, key=self.laxity, reverse=True)
        urgency = {session.session_id: place + 1 for place, session in enumerate(ranked)}
        demands = []
        for session in active_sessions:
            power = int(self.rate(session) * MILLIWATT_HOURS)
            stay = session.estimated_departure - now
            demand = {"power": [power] * stay + [0] * (slots - stay), "need": int(session.remaining_demand * 1e6), "minimum": 0}
            demand["prices"] = [slot * urgency[session.session_id] for slot in range(slots)]
            demands.append(demand)
        depot = {"slots": [[self.capacity, self.capacity, 0]] * slots, "demands": demands}
        self.process.stdin.write(json.dumps(depot) + "\n")
        self.process.stdin.flush()
        flows = json.loads(self.process.stdout.readline())
        return {session.station_id: [flow[0] / MILLIWATT_HOURS] for session, flow in zip(active_sessions, flows, strict=True)}


def simulated(algorithm, capacity, events, start):
    stations = acnsim.sites.caltech_acn().station_ids
    network = acnsim.sites.simple_acn(stations, voltage=VOLTAGE, aggregate_cap=capacity)
    simulation = acnsim.Simulator(network, algorithm, copy.deepcopy(events), start, period=PERIOD, verbose=False)
    simulation.run()
    power = analysis.aggregate_power(simulation).max()
    assert power <= capacity * (1 + 1e-6), f"{power} kW of {capacity}"
    return analysis.proportion_of_energy_delivered(simulation) * 100


def main(program, file, *capacities):
    warnings.simplefilter("ignore")
    with gzip.open(file) as compressed:
        events = acnsim.EventQueue.from_json(json.load(compressed))
    start = pytz.timezone("America/Los_Angeles").localize(datetime.datetime(2019, 3, 1))
    capacities = [int(one) for one in capacities] or range(10, 141, 5)
    shares = []
    for capacity in capacities:
        laxity = algorithms.SortedSchedulingAlgo(algorithms.least_laxity_first)
        pair = [simulated(one, capacity, events, start) for one in (Planner(program, capacity), laxity)]
        shares.append(pair)
        print(f"{capacity} kW: planner {pair[0]:.3f} %, least laxity first {pair[1]:.3f} %", flush=True)
    ours, theirs = (sum(column) / len(shares) for column in zip(*shares))
    print(f"mean of {len(shares)}: planner {ours:.3f} %, least laxity first {theirs:.3f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
