"""Compares plans of random depots with the linear program of each, solved by HiGHS: `judge.py PROGRAM COUNT [SEED]`.

PROGRAM is the example `plan` of the crate `planner`. For each aim in its order the linear program is solved with the aims before it held at
their optimum. Flows of networks have optima in whole numbers, so each aim of the plan must be the optimum itself.
"""

import json
import random
import subprocess
import sys
import time

import highspy
import numpy

AIMS = ["unserved minimum", "unserved need", "energy above thresholds", "late minimum", "price", "late energy"]


def random_depot(numbers, index):
    """Every kind of depot in turn: small and large, with much and with little capacity, prices and minima of each kind."""
    vehicles = numbers.choice([2, 3, 5, 10, 20, 40, 80, 120, 200]) if index % 10 else 200
    slots = numbers.choice([1, 4, 12, 24, 48, 96]) if vehicles <= 40 else numbers.choice([12, 24, 36])
    kind = numbers.choice(["flat", "two levels", "hours", "negative"])
    price = {
        "flat": lambda: 2_500,
        "two levels": lambda: numbers.choice([1_200, 3_100]),
        "hours": lambda: numbers.randint(500, 6_000),
        "negative": lambda: numbers.randint(-800, 800),
    }[kind]
    own = numbers.choice([0, 0, 0.3, 1])
    with_minimum = numbers.choice([0, 0.4, 1])
    shares = numbers.choice([[0.1], [0.1, 0.5], [0.1, 0.5, 0.9, 1], [0.5, 1, 1.3]])
    demands = []
    for _ in range(vehicles):
        start, end = sorted(numbers.sample(range(slots + 1), 2))
        rate = numbers.choice([575, 925, 1_840, 2_750, 5_500])
        power = [rate if start <= slot < end else 0 for slot in range(slots)]
        possible = sum(power)
        need = max(0, int(possible * numbers.choice(shares)) + numbers.randint(-300, 0))
        demands.append(
            {
                "power": power,
                "need": need,
                "minimum": int(need * numbers.random()) if numbers.random() < with_minimum else 0,
                "prices": [price() for _ in range(slots)] if numbers.random() < own else None,
            }
        )
    average = sum(demand["need"] for demand in demands) / slots
    load = numbers.choice([0.6, 1.1, 2, 4, 8])
    changes = numbers.choice([[1], [0.5, 1, 1.5], [0, 1, 1, 2]])
    capacities = [int(average * load * numbers.choice(changes)) for _ in range(slots)]
    share = numbers.choice([0, 0.5, 0.8, 1])
    return {"slots": [[capacity, int(capacity * share), price()] for capacity in capacities], "demands": demands}


def priced(depot, demand):
    return demand["prices"] or [price for _, _, price in depot["slots"]]


def aims_of(depot, flows):
    """The aims that a plan reaches, and a complaint about each limit that it exceeds."""
    aims, wrong, loads = [0] * len(AIMS), [], [0] * len(depot["slots"])
    for demand, of_vehicle in zip(depot["demands"], flows, strict=True):
        missing = demand["minimum"]
        prices = priced(depot, demand)
        for slot, (flow, power) in enumerate(zip(of_vehicle, demand["power"], strict=True)):
            if not isinstance(flow, int) or not 0 <= flow <= power:
                wrong.append(f"{flow} of {power} Wh in slot {slot}")
            early = min(missing, flow)
            missing -= early
            loads[slot] += flow
            aims[3] += slot * early
            aims[4] += prices[slot] * flow
            aims[5] += slot * flow
        aims[0] += missing
        aims[1] += demand["need"] - sum(of_vehicle)
        if sum(of_vehicle) > demand["need"]:
            wrong.append("more than the need")
    for load, (capacity, threshold, _) in zip(loads, depot["slots"]):
        aims[2] += max(0, load - threshold)
        if load > capacity:
            wrong.append(f"{load} Wh of {capacity}")
    return aims, wrong


class Program:
    """The linear program of a depot: a column for each flow of a minimum and of a rest, each unserved energy and each excess."""

    def __init__(self, depot):
        self.costs, self.upper, self.rows = [[] for _ in AIMS], [], []
        loads = [[] for _ in depot["slots"]]
        for demand in depot["demands"]:
            minimum = [self.column(demand["minimum"], {0: 1, 1: 1})]
            rest = [self.column(demand["need"] - demand["minimum"], {1: 1})]
            prices = priced(depot, demand)
            for slot, power in enumerate(demand["power"]):
                if power:
                    late = {4: prices[slot], 5: slot}
                    pair = [self.column(power, late | {3: slot}), self.column(power, late)]
                    minimum.append(pair[0])
                    rest.append(pair[1])
                    loads[slot] += pair
                    self.rows.append((pair, [1, 1], 0, power))
            self.rows.append((minimum, [1] * len(minimum), demand["minimum"], demand["minimum"]))
            size = demand["need"] - demand["minimum"]
            self.rows.append((rest, [1] * len(rest), size, size))
        for columns, (capacity, threshold, _) in zip(loads, depot["slots"]):
            excess = self.column(capacity - threshold, {2: 1})
            self.rows.append(([*columns, excess], [1] * len(columns) + [-1], -capacity, threshold))

    def column(self, upper, costs):
        self.upper.append(upper)
        for aim, of_aim in enumerate(self.costs):
            of_aim.append(costs.get(aim, 0))
        return len(self.upper) - 1

    def model(self):
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.upper), len(self.rows)
        lp.col_cost_ = numpy.zeros(lp.num_col_)
        lp.col_lower_, lp.col_upper_ = numpy.zeros(lp.num_col_), numpy.array(self.upper, dtype=float)
        lp.row_lower_ = numpy.array([row[2] for row in self.rows], dtype=float)
        lp.row_upper_ = numpy.array([row[3] for row in self.rows], dtype=float)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = numpy.cumsum([0] + [len(row[0]) for row in self.rows])
        lp.a_matrix_.index_ = numpy.concatenate([row[0] for row in self.rows])
        lp.a_matrix_.value_ = numpy.concatenate([row[1] for row in self.rows]).astype(float)
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.passModel(lp)
        return highs

    def optimum(self):
        """The optimum of each aim in turn. Columns whose reduced cost shows that they are at a bound in every optimum stay there."""
        highs, optima = self.model(), []
        columns = numpy.arange(len(self.upper), dtype=numpy.int32)
        lower, upper = numpy.zeros(len(self.upper)), numpy.array(self.upper, dtype=float)
        row_lower = numpy.array([row[2] for row in self.rows], dtype=float)
        row_upper = numpy.array([row[3] for row in self.rows], dtype=float)
        rows = numpy.arange(len(self.rows), dtype=numpy.int32)
        for costs in self.costs:
            highs.changeColsCost(len(columns), columns, numpy.array(costs, dtype=float))
            highs.run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                sys.exit(f"the linear program was not solved: {highs.getModelStatus()}")
            optima.append(highs.getInfo().objective_function_value)
            # The optimal face: complementary slackness with one optimal dual solution.
            solution = highs.getSolution()
            duals = numpy.array(solution.col_dual)
            upper = numpy.where(duals > 1e-6, lower, upper)
            lower = numpy.where(duals < -1e-6, upper, lower)
            highs.changeColsBounds(len(columns), columns, lower, upper)
            duals = numpy.array(solution.row_dual)
            row_upper = numpy.where(duals > 1e-6, row_lower, row_upper)
            row_lower = numpy.where(duals < -1e-6, row_upper, row_lower)
            for row in rows[(duals > 1e-6) | (duals < -1e-6)]:
                highs.changeRowBounds(int(row), row_lower[row], row_upper[row])
        return optima


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    numbers = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    depots = [random_depot(numbers, index) for index in range(count)]
    lines = "\n".join(json.dumps(depot) for depot in depots)
    started = time.monotonic()
    plans = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    planned = time.monotonic() - started
    failures, short, most = 0, 0, 0.0
    for index, (depot, plan) in enumerate(zip(depots, plans, strict=True)):
        aims, wrong = aims_of(depot, json.loads(plan))
        optima = Program(depot).optimum()
        short += aims[1] > 0
        for name, aim, optimum in zip(AIMS, aims, optima, strict=True):
            difference = abs(aim - optimum) / max(1, abs(optimum))
            most = max(most, difference)
            if difference > 1e-9:
                wrong.append(f"{name}: {aim}, and the optimum is {optimum}")
        if wrong:
            failures += 1
            print(f"depot {index}: {'; '.join(wrong)}")
    sizes = [len(depot["demands"]) * len(depot["slots"]) for depot in depots]
    print(
        f"{count} depots of up to {max(sizes)} flows planned in {planned:.1f} s, judged in {time.monotonic() - started - planned:.1f} s: "
        f"{short} cannot serve every need, largest difference to an optimum {most:.1e}, {failures} wrong"
    )
    sys.exit(failures > 0)


main()
