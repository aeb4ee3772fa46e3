"""How many reservations of a rush could have been confirmed by who knows the whole day: `optimum.py INSTANCE [SECONDS]`.

Connectors of one plug at one station are alike, so each such group is one resource with a capacity. The search starts from
what the service did, which it thereby proves possible.
"""

import collections
import json
import sys

from ortools.sat.python import cp_model


def build(instance):
    model = cp_model.CpModel()
    groups = {
        (pool["station"], pool["plug"]): pool["connectors"] for pool in instance["pools"]
    }
    held = collections.defaultdict(list)
    confirmed = []
    for wish in instance["reservations"]:
        start = model.new_int_var(wish["earliest"], wish["latest"], "")
        model.add_hint(start, wish["start"] if wish["start"] is not None else wish["earliest"])
        choices = []
        for station in wish["stations"]:
            group = (station, wish["plug"])
            if not groups[group]:
                continue
            chosen = model.new_bool_var("")
            model.add_hint(chosen, station == wish["station"])
            choices.append(chosen)
            held[group].append(
                model.new_optional_fixed_size_interval_var(start, wish["length"], chosen, "")
            )
        model.add_at_most_one(choices)
        confirmed += choices
    for group, intervals in held.items():
        model.add_cumulative(intervals, [1] * len(intervals), groups[group])
    model.maximize(sum(confirmed))
    return model


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        instance = json.load(file)
    wishes = instance["reservations"]
    ours = sum(wish["start"] is not None for wish in wishes)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = float(sys.argv[2] if len(sys.argv) > 2 else 120)
    status = solver.solve(build(instance))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        sys.exit(f"no solution: {solver.status_name(status)}")
    found, bound = round(solver.objective_value), round(solver.best_objective_bound)
    proved = "the optimum" if found == bound else f"the best found; no more than {bound} are possible"
    print(f"ours:    {ours:5} of {len(wishes)}  {100 * ours / len(wishes):5.1f} %")
    print(f"optimum: {found:5} of {len(wishes)}  {100 * found / len(wishes):5.1f} %  ({proved})")
    print(f"ours is {100 * ours / bound:.1f} % of what is possible at most")


main()
