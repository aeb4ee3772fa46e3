"""How many reservations of a rush a plan of the whole day could confirm: `optimum.py INSTANCE [SECONDS]`.

Connectors of one plug at one station are alike, so each such group is one resource with a capacity. CP-SAT looks for the best
plan, starting from what the service did, which it thereby proves possible; a linear program that may split a reservation
prints what no plan exceeds.
"""

import collections
import json
import math
import sys

from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model


def choices(instance):
    """Each reservation with the groups that it can have a connector of."""
    size = {(pool["station"], pool["plug"]): pool["connectors"] for pool in instance["pools"]}
    for request in instance["reservations"]:
        groups = [(station, request["plug"]) for station in request["stations"]]
        yield request, {group: size[group] for group in groups if size[group]}


def best_plan(instance, seconds):
    model = cp_model.CpModel()
    held, size, confirmed = collections.defaultdict(list), {}, []
    for request, groups in choices(instance):
        size |= groups
        start = model.new_int_var(request["earliest"], request["latest"], "")
        model.add_hint(start, request["earliest"] if request["start"] is None else request["start"])
        chosen = []
        for group in groups:
            chosen.append(model.new_bool_var(""))
            model.add_hint(chosen[-1], group[0] == request["station"])
            interval = model.new_optional_fixed_size_interval_var(start, request["length"], chosen[-1], "")
            held[group].append(interval)
        model.add_at_most_one(chosen)
        confirmed += chosen
    for group, intervals in held.items():
        model.add_cumulative(intervals, [1] * len(intervals), size[group])
    model.maximize(sum(confirmed))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        sys.exit(f"no plan: {solver.status_name(status)}")
    return round(solver.objective_value), round(solver.best_objective_bound)


def bound(instance):
    solver = pywraplp.Solver.CreateSolver("GLOP")
    held, size, confirmed = collections.defaultdict(list), {}, []
    for request, groups in choices(instance):
        size |= groups
        shares = []
        for group in groups:
            for start in range(request["earliest"], request["latest"] + 1):
                shares.append(solver.NumVar(0, 1, ""))
                held[group].append((start, start + request["length"], shares[-1]))
        solver.Add(solver.Sum(shares) <= 1)
        confirmed += shares
    for group, windows in held.items():
        for moment in {start for start, _, _ in windows}:
            under_way = [share for start, end, share in windows if start <= moment < end]
            solver.Add(solver.Sum(under_way) <= size[group])
    solver.Maximize(solver.Sum(confirmed))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        sys.exit("the linear program was not solved")
    return math.floor(solver.Objective().Value() + 1e-6)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        instance = json.load(file)
    requests = instance["reservations"]
    ours = sum(request["start"] is not None for request in requests)
    found, most = best_plan(instance, float(sys.argv[2] if len(sys.argv) > 2 else 60))
    most = min(most, bound(instance))
    share = lambda count: f"{count:5} of {len(requests)}  {100 * count / len(requests):5.1f} %"
    print(f"ours:           {share(ours)}")
    print(f"best plan:      {share(found)}")
    print(f"no plan exceeds {share(most)}")
    print(f"ours is {100 * ours / most:.1f} % of that")


main()
