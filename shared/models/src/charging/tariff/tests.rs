use super::*;
use crate::charging_station::{Restrictions, Tax, Weekday};
use jiff::tz::TimeZone;
use kernel::Timestamp;
use proptest::prelude::*;

const MINUTE: u64 = 60_000;

/// The cost of a session that began on a Sunday at eight.
fn cost(pricing: &[Price], currency: Currency, usage: Usage) -> Cost {
    cost_from("2026-03-01T08:00:00Z", "UTC", pricing, currency, usage)
}

fn cost_from(began: &str, zone: &str, pricing: &[Price], currency: Currency, usage: Usage) -> Cost {
    cost_of(began, zone, pricing, usage, &[], currency)
}

fn cost_of(
    began: &str,
    zone: &str,
    pricing: &[Price],
    usage: Usage,
    segments: &[Segment],
    currency: Currency,
) -> Cost {
    let course = super::Course {
        began: Timestamp::parse(began).unwrap(),
        zone: &TimeZone::get(zone).unwrap(),
        usage,
        segments,
    };
    super::cost(pricing, currency, course)
}

fn eur() -> Currency {
    Currency::from_code("eur").unwrap()
}

/// A price without tax, in cents.
fn price(kind: PriceType, price: i64, percent: &str, step_size: u32) -> Price {
    Price {
        currency: eur(),
        price,
        price_decimal: None,
        step_size,
        tax: Tax::Vat,
        tax_included: false,
        tax_percent: percent.into(),
        kind,
        restrictions: None,
    }
}

fn used(energy: u64, charging: u64, parking: u64) -> Usage {
    Usage {
        energy,
        charging,
        parking,
    }
}

fn totals(pricing: &[Price], usage: Usage) -> (i64, i64) {
    let cost = cost(pricing, eur(), usage);
    (cost.net, cost.gross)
}

/// The worked examples of OCPI 2.3.0, module tariffs: those without restrictions and price limits.
#[test]
fn the_examples_of_the_standard_come_out() {
    use PriceType::{Energy, Flat, ParkingTime, Time};
    let energy = price(Energy, 25, "10", 1);
    let start = price(Flat, 50, "20", 1);
    let simple = std::slice::from_ref(&energy);
    assert_eq!(totals(simple, used(20_000, 0, 0)), (500, 550));
    let with_start = [start.clone(), energy.clone()];
    assert_eq!(totals(&with_start, used(20_000, 0, 0)), (550, 610));
    assert_eq!(totals(&with_start, used(30_000, 0, 0)), (800, 885));
    let with_parking = [start, energy, price(ParkingTime, 200, "20", 900)];
    let parked = used(20_000, 0, 40 * MINUTE);
    assert_eq!(totals(&with_parking, parked), (700, 790));
    let by_time = [price(Time, 200, "10", 60)];
    assert_eq!(totals(&by_time, used(0, 150 * MINUTE, 0)), (500, 550));
    let dearer_parking = [
        price(Time, 300, "10", 60),
        price(ParkingTime, 500, "20", 300),
    ];
    let parked = used(0, 150 * MINUTE, 42 * MINUTE);
    assert_eq!(totals(&dearer_parking, parked), (1125, 1275));
    let ad_hoc = [price(Time, 190, "5.2", 300)];
    assert_eq!(totals(&ad_hoc, used(0, 150 * MINUTE, 0)), (475, 500));
    let coarse = [price(Energy, 25, "10", 100)];
    // 20.45 kWh are billed as 20.5. The standard prints 5.50 and 6.05, which is 22 kWh; its own rule gives this.
    assert_eq!(totals(&coarse, used(20_450, 0, 0)), (513, 564));
}

/// OCPI 2.3.0: 21 minutes of charging are billed as they are when 8 minutes of parking follow; those are billed as 10.
#[test]
fn parking_takes_the_rounding_of_both_times() {
    use PriceType::{ParkingTime, Time};
    let pricing = [
        price(Time, 600, "0", 300),
        price(ParkingTime, 600, "0", 300),
    ];
    let billed = |usage| -> Vec<_> {
        let lines = cost(&pricing, eur(), usage).lines;
        lines.into_iter().map(|line| line.net).collect()
    };
    assert_eq!(billed(used(0, 21 * MINUTE, 8 * MINUTE)), [210, 100]);
    assert_eq!(billed(used(0, 21 * MINUTE, 0)), [250]);
    // Parking that costs nothing leaves the rounding to the charging time.
    let time = [pricing[0].clone()];
    assert_eq!(totals(&time, used(0, 21 * MINUTE, 8 * MINUTE)), (250, 250));
}

#[test]
fn each_line_is_rounded_half_away_from_zero() {
    let half = Price {
        price_decimal: Some("12.5".into()),
        ..price(PriceType::Energy, 13, "0", 1)
    };
    assert_eq!(
        totals(std::slice::from_ref(&half), used(1000, 0, 0)),
        (13, 13)
    );
    let line = cost(&[half], eur(), used(1000, 0, 0)).lines.remove(0);
    assert_eq!(
        (line.unit_price.to_string(), line.unit()),
        ("12.5".into(), "kWh")
    );
    let third = [price(PriceType::Time, 100, "0", 1)];
    let line = cost(&third, eur(), used(0, 20 * MINUTE, 0)).lines.remove(0);
    assert_eq!(
        (line.quantity.to_string(), line.net),
        ("0.333333".into(), 33)
    );
}

#[test]
fn tax_that_is_included_is_taken_out() {
    let included = Price {
        tax_included: true,
        ..price(PriceType::Energy, 45, "20", 1)
    };
    let cost = cost(&[included], eur(), used(11_111, 0, 0));
    // 11.111 kWh × 45 = 499.995, and without a fifth on top 416.6625.
    assert_eq!((cost.net, cost.tax, cost.gross), (417, 83, 500));
    let untaxed = Price {
        tax: Tax::None,
        ..price(PriceType::Energy, 45, "20", 1)
    };
    assert_eq!(totals(&[untaxed], used(10_000, 0, 0)), (450, 450));
}

#[test]
fn amounts_are_in_the_smallest_unit_whatever_the_exponent() {
    for (code, unit_price, want) in [("jpy", 55, 678), ("kwd", 125, 1541), ("eur", 30, 370)] {
        let currency = Currency::from_code(code).unwrap();
        let energy = Price {
            currency,
            ..price(PriceType::Energy, unit_price, "0", 1)
        };
        assert_eq!(
            cost(&[energy], currency, used(12_329, 0, 0)).gross,
            want,
            "{code}"
        );
    }
}

#[test]
fn only_prices_of_the_sessions_currency_count() {
    let usd = Price {
        currency: Currency::USD,
        ..price(PriceType::Flat, 100, "0", 1)
    };
    let pricing = [price(PriceType::Energy, 25, "0", 1), usd];
    assert_eq!(cost(&pricing, Currency::USD, used(9_000, 0, 0)).gross, 100);
    assert_eq!(
        currency(&pricing, Currency::USD, Timestamp::EPOCH),
        Currency::USD
    );
    assert_eq!(
        currency(&pricing[..1], Currency::USD, Timestamp::EPOCH),
        eur()
    );
    assert_eq!(
        currency(&[], Currency::USD, Timestamp::EPOCH),
        Currency::USD
    );
}

fn at(price: Price, restrictions: Restrictions) -> Price {
    Price {
        restrictions: Some(restrictions),
        ..price
    }
}

fn clock(start: &str, end: &str) -> Restrictions {
    Restrictions {
        start_time: Some(start.into()),
        end_time: Some(end.into()),
        ..Restrictions::default()
    }
}

fn nets(cost: &Cost) -> Vec<i64> {
    cost.lines.iter().map(|line| line.net).collect()
}

#[test]
fn prices_follow_the_stations_clock() {
    let by_day = at(
        price(PriceType::Energy, 40, "0", 1),
        clock("07:00", "19:00"),
    );
    let pricing = [by_day, price(PriceType::Energy, 20, "0", 1)];
    // From six to eight in the evening in Berlin.
    let evening = used(20_000, 120 * MINUTE, 0);
    let cost = cost_from(
        "2026-07-01T16:00:00Z",
        "Europe/Berlin",
        &pricing,
        eur(),
        evening,
    );
    assert_eq!(nets(&cost), [400, 200]);
    assert_eq!(
        nets(&cost_from(
            "2026-07-01T16:00:00Z",
            "UTC",
            &pricing,
            eur(),
            evening
        )),
        [800]
    );
}

#[test]
fn a_night_is_as_long_as_the_clocks_make_it() {
    let by_night = at(
        price(PriceType::Time, 100, "0", 60),
        clock("22:00", "06:00"),
    );
    let pricing = [by_night, price(PriceType::Time, 300, "0", 60)];
    for (began, hours, want) in [
        // Eleven in the evening to seven in the morning: seven hours when the clocks go forward, nine when they go back.
        ("2026-03-28T22:00:00Z", 7, [600, 300]),
        ("2026-10-24T21:00:00Z", 9, [800, 300]),
        ("2026-05-01T21:00:00Z", 8, [700, 300]),
    ] {
        let usage = used(0, hours * 60 * MINUTE, 0);
        let cost = cost_from(began, "Europe/Amsterdam", &pricing, eur(), usage);
        assert_eq!(nets(&cost), want, "{began}");
    }
}

#[test]
fn prices_follow_days_dates_durations_energy_and_power() {
    let free = |restrictions| at(price(PriceType::Energy, 0, "0", 1), restrictions);
    let cost_with = |restrictions| {
        let pricing = [free(restrictions), price(PriceType::Energy, 100, "0", 1)];
        // Twelve hours from a Sunday at eight in the evening, 1 kW, in UTC.
        let usage = used(12_000, 720 * MINUTE, 0);
        cost_from("2026-03-01T20:00:00Z", "UTC", &pricing, eur(), usage).gross
    };
    let none = Restrictions::default;
    assert_eq!(
        cost_with(Restrictions {
            day_of_week: vec![Weekday::Sun],
            ..none()
        }),
        800
    );
    assert_eq!(
        cost_with(Restrictions {
            start_date: Some("2026-03-02".into()),
            ..none()
        }),
        400
    );
    assert_eq!(
        cost_with(Restrictions {
            end_date: Some("2026-03-02".into()),
            ..none()
        }),
        800
    );
    assert_eq!(
        cost_with(Restrictions {
            min_duration: Some(3600),
            ..none()
        }),
        100
    );
    assert_eq!(
        cost_with(Restrictions {
            max_duration: Some(3600),
            ..none()
        }),
        1100
    );
    assert_eq!(
        cost_with(Restrictions {
            min_energy: Some(2_500),
            ..none()
        }),
        250
    );
    assert_eq!(
        cost_with(Restrictions {
            max_energy: Some(2_500),
            ..none()
        }),
        950
    );
    assert_eq!(
        cost_with(Restrictions {
            min_power: Some(1_000),
            ..none()
        }),
        0
    );
    assert_eq!(
        cost_with(Restrictions {
            max_power: Some(1_000),
            ..none()
        }),
        1200
    );
    assert_eq!(cost_with(clock("22:00", "00:00")), 1000);
    assert_eq!(cost_with(clock("00:00", "00:00")), 0);
}

/// OCPI 2.3.0: at least 0.50 without and 0.55 with tax, at most 10.00 and 11.00.
#[test]
fn a_session_costs_at_least_and_at_most_so_much() {
    let energy = price(PriceType::Energy, 25, "10", 1);
    let least = price(PriceType::MinPrice, 50, "10", 1);
    let most = price(PriceType::MaxPrice, 1000, "10", 1);
    let pricing = [energy, least, most];
    assert_eq!(totals(&pricing, used(1_000, 0, 0)), (50, 55));
    assert_eq!(totals(&pricing, used(20_000, 0, 0)), (500, 550));
    assert_eq!(totals(&pricing, used(60_000, 0, 0)), (1000, 1100));
    let raised = cost(&pricing, eur(), used(1_000, 0, 0));
    assert_eq!(
        raised
            .lines
            .iter()
            .map(|line| line.gross)
            .collect::<Vec<_>>(),
        [28, 27]
    );
}

fn charge(minutes: u64, energy: u64) -> Segment {
    Segment {
        lasts: minutes * MINUTE,
        energy,
        is_parking: false,
    }
}

fn park(minutes: u64) -> Segment {
    Segment {
        is_parking: true,
        ..charge(minutes, 0)
    }
}

/// The cost of a session in Amsterdam that has these segments.
fn course(began: &str, pricing: &[Price], segments: &[Segment]) -> Cost {
    let sum = |is_parking: bool| {
        let of_kind = segments.iter();
        let of_kind = of_kind.filter(|segment| segment.is_parking == is_parking);
        of_kind.map(|segment| segment.lasts).sum()
    };
    let energy = segments.iter().map(|segment| segment.energy).sum();
    let usage = used(energy, sum(false), sum(true));
    cost_of(began, "Europe/Amsterdam", pricing, usage, segments, eur())
}

/// 80 cents from 6 to 22 o'clock, otherwise this price.
fn day_and_night(night: i64) -> [Price; 2] {
    let day = at(
        price(PriceType::Energy, 80, "0", 1),
        clock("06:00", "22:00"),
    );
    [day, price(PriceType::Energy, night, "0", 1)]
}

#[test]
fn energy_costs_what_holds_when_it_flows() {
    // Parked from 18:00 to 22:02, then 22 kWh in three hours: 22 × 0.20.
    let delayed = [park(242), charge(180, 22_000)];
    let cost = course("2026-11-28T17:00:00Z", &day_and_night(20), &delayed);
    assert_eq!((nets(&cost), cost.gross), (vec![440], 440));
    // From 21:00, 48 kWh in an hour and 2 kWh in the eight hours until 6: 48 × 0.80 + 2 × 0.10.
    let fast = [charge(60, 48_000), charge(480, 2_000)];
    let cost = course("2026-11-28T20:00:00Z", &day_and_night(10), &fast);
    assert_eq!(nets(&cost), [3840, 20]);
    // 20 kWh in an hour at 20 kW, an hour's pause, and 5 kWh in an hour at 5 kW: 20 × 0.60 + 5 × 0.30, and 1.20 for the pause.
    let strong = at(
        price(PriceType::Energy, 60, "0", 1),
        Restrictions {
            min_power: Some(10_000),
            ..Restrictions::default()
        },
    );
    let by_power = [
        strong,
        price(PriceType::Energy, 30, "0", 1),
        price(PriceType::ParkingTime, 120, "0", 1),
    ];
    let interrupted = [charge(60, 20_000), park(60), charge(60, 5_000)];
    let cost = course("2026-11-28T20:00:00Z", &by_power, &interrupted);
    assert_eq!(nets(&cost), [1200, 150, 120]);
}

#[test]
fn a_segment_is_cut_where_prices_change() {
    // From 21:00, 6 kWh in two hours, a pause of an hour, and 3 kWh in an hour. The first 7 kWh cost 50 cents.
    let cheap = Restrictions {
        min_energy: Some(7_000),
        ..Restrictions::default()
    };
    let by_energy = [
        at(price(PriceType::Energy, 10, "0", 1), cheap),
        price(PriceType::Energy, 50, "0", 1),
    ];
    let segments = [charge(120, 6_000), park(60), charge(60, 3_000)];
    let cost = course("2026-11-28T20:00:00Z", &by_energy, &segments);
    assert_eq!(nets(&cost), [20, 350]);
    let cost = course("2026-11-28T20:00:00Z", &day_and_night(20), &segments);
    assert_eq!(nets(&cost), [240, 120]);
}

#[test]
fn segments_divide_the_energy_of_their_session() {
    let segments = [park(242), charge(90, 1_000), charge(90, 3_000)];
    let cost_with = |usage: Usage, segments: &[Segment]| {
        let began = "2026-11-28T15:30:00Z";
        let zone = "Europe/Amsterdam";
        nets(&cost_of(
            began,
            zone,
            &day_and_night(20),
            usage,
            segments,
            eur(),
        ))
    };
    // Charging from 20:32 to 23:32. Of 8 kWh instead of 4, two flow until 22:02, of them 1.956 until 22:00.
    let usage = used(8_000, 180 * MINUTE, 242 * MINUTE);
    assert_eq!(cost_with(usage, &segments), [156, 121]);
    // Without energies it flows evenly: 88 of 180 minutes are until 22:00.
    let unmeasured = [park(242), charge(90, 0), charge(90, 0)];
    assert_eq!(cost_with(usage, &unmeasured), [313, 82]);
    // Segments of another duration are not those of the session.
    assert_eq!(cost_with(usage, &segments[..2]), [640]);
    // Nothing is divided.
    let parked = used(0, 180 * MINUTE, 242 * MINUTE);
    assert_eq!(cost_with(parked, &segments), [0; 0]);
}

#[test]
fn a_tax_is_common_if_all_components_have_it() {
    let energy = price(PriceType::Energy, 40, "21", 1);
    let start = price(PriceType::Flat, 100, "21.0", 1);
    let limit = price(PriceType::MaxPrice, 900, "20.8", 1);
    let free = price(PriceType::Time, 0, "9", 1);
    let common = |pricing: &[Price]| common_tax(pricing, eur(), Timestamp::EPOCH);
    let percent = |number: i64| Some(Decimal::from(number));
    let alike = [energy.clone(), start, limit.clone(), free];
    assert_eq!(common(&alike), percent(21));
    let reduced = price(PriceType::ParkingTime, 100, "9", 1);
    assert_eq!(common(&[energy.clone(), reduced]), None);
    let untaxed = Price {
        tax: Tax::None,
        ..energy
    };
    assert_eq!(common(&[untaxed]), percent(0));
    assert_eq!((common(&[]), common(&[limit])), (None, None));
    assert_eq!(common_tax(&alike, Currency::USD, Timestamp::EPOCH), None);
}

fn any_price() -> impl Strategy<Value = Price> {
    use PriceType::{Energy, Flat, ParkingTime, Time};
    let kind = prop_oneof![Just(Energy), Just(Time), Just(ParkingTime), Just(Flat)];
    let decimal = proptest::option::of("[0-9]{1,30}(\\.[0-9]{0,30})?|\\PC{0,6}");
    let tax = (
        any::<bool>(),
        any::<bool>(),
        "[0-9]{1,12}(\\.[0-9]{0,9})?|\\PC{0,4}",
    );
    (kind, any::<i64>(), decimal, any::<u32>(), tax).prop_map(
        |(kind, amount, price_decimal, step, (taxed, tax_included, percent))| Price {
            price_decimal,
            tax: if taxed { Tax::Gst } else { Tax::None },
            tax_included,
            ..price(kind, amount, &percent, step)
        },
    )
}

fn usual_price() -> impl Strategy<Value = Price> {
    (any_price(), 0i64..100_000, 0u32..4000, 0u32..30_000).prop_map(
        |(any, amount, step_size, percent)| Price {
            price: amount,
            price_decimal: None,
            step_size,
            tax_percent: Decimal::new(percent.into(), 3).to_string(),
            ..any
        },
    )
}

proptest! {
    #[test]
    fn no_input_panics_and_lines_add_up(
        pricing in proptest::collection::vec(any_price(), 0..6),
        (energy, charging, parking) in any::<(u64, u64, u64)>(),
    ) {
        let cost = cost(&pricing, eur(), used(energy, charging, parking));
        let sum = |part: fn(&Line) -> i64| cost.lines.iter().map(part).fold(0, i64::saturating_add);
        prop_assert_eq!((cost.net, cost.tax, cost.gross), (sum(|l| l.net), sum(|l| l.tax), sum(|l| l.gross)));
        for line in &cost.lines {
            prop_assert_eq!(line.net + line.tax, line.gross);
            prop_assert!(line.net >= 0 && line.tax >= 0);
        }
    }

    #[test]
    fn segments_of_one_flow_cost_what_the_whole_does(
        pricing in proptest::collection::vec(usual_price(), 0..6),
        minutes in proptest::collection::vec(1u64..600, 1..9), parking in 0u64..600, start in 0u32..24,
    ) {
        let mut pricing = pricing;
        for (place, price) in pricing.iter_mut().enumerate().filter(|(place, _)| place % 2 == 0) {
            price.restrictions = Some(clock(&format!("{:02}:{:02}", place * 3, start), "17:30"));
        }
        let mut segments: Vec<Segment> = minutes.iter().map(|minutes| charge(*minutes, minutes * 120)).collect();
        segments.push(park(parking));
        let whole: u64 = minutes.iter().sum();
        let usage = used(whole * 120, whole * MINUTE, parking * MINUTE);
        let cost = |segments: &[Segment]| cost_of("2026-03-28T08:00:00Z", "Europe/Amsterdam", &pricing, usage, segments, eur());
        prop_assert_eq!(cost(&segments), cost(&[]));
    }

    #[test]
    fn more_energy_or_time_never_costs_less(
        pricing in proptest::collection::vec(usual_price(), 0..6),
        energy in 0u64..1_000_000, charging in 0u64..100_000_000, parking in 0u64..100_000_000,
        more in (0u64..100_000, 0u64..10_000_000),
    ) {
        let less = cost(&pricing, eur(), used(energy, charging, parking));
        let more = cost(&pricing, eur(), used(energy + more.0, charging + more.1, parking));
        prop_assert!(less.gross <= more.gross && less.net <= more.net);
    }
}
