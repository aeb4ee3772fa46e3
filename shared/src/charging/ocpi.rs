//! Stations as OCPI 2.2.1 describes them: a Location object becomes a charging station.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::models::address::{Address, Country};
use crate::models::charging_station::{
    Availability, Capabilities, ChargingStation, Connector, ConnectorStatus, OpeningHours, Plug,
    Point, Range, StationStatus, Weekday,
};
use crate::models::text::{Memo, Text, ZoneName};
use crate::models::vehicle::ConnectorType;
use crate::time::Timestamp;

/// The members of an OCPI 2.2.1 Location that a charging station is made of. Others are ignored, as the standard asks.
#[derive(Debug, Clone, Deserialize)]
pub struct Location {
    pub country_code: String,
    pub party_id: String,
    pub id: String,
    #[serde(default)]
    pub name: Option<String>,
    pub address: String,
    pub city: String,
    #[serde(default)]
    pub postal_code: Option<String>,
    #[serde(default)]
    pub state: Option<String>,
    /// ISO 3166-1 alpha-3.
    pub country: String,
    pub coordinates: Coordinates,
    #[serde(default)]
    pub operator: Option<Business>,
    #[serde(default)]
    pub evses: Vec<Evse>,
    #[serde(default)]
    pub facilities: Vec<String>,
    #[serde(default)]
    pub time_zone: Option<String>,
    #[serde(default)]
    pub opening_times: Option<Hours>,
    pub last_updated: Timestamp,
}

/// Decimal degrees, as strings.
#[derive(Debug, Clone, Deserialize)]
pub struct Coordinates {
    pub latitude: String,
    pub longitude: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Business {
    pub name: String,
    #[serde(default)]
    pub website: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Evse {
    pub uid: String,
    #[serde(default)]
    pub evse_id: Option<String>,
    #[serde(default)]
    pub physical_reference: Option<String>,
    pub status: EvseStatus,
    #[serde(default)]
    pub capabilities: Vec<String>,
    pub connectors: Vec<OcpiConnector>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvseStatus {
    Available,
    Blocked,
    Charging,
    Inoperative,
    #[serde(rename = "OUTOFORDER")]
    OutOfOrder,
    Planned,
    Removed,
    Reserved,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Deserialize)]
pub struct OcpiConnector {
    pub id: String,
    pub standard: String,
    /// V
    pub max_voltage: f64,
    /// A
    pub max_amperage: f64,
    pub power_type: String,
    /// W
    #[serde(default)]
    pub max_electric_power: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Hours {
    #[serde(default)]
    pub twentyfourseven: bool,
    #[serde(default)]
    pub regular_hours: Vec<RegularHours>,
    #[serde(default)]
    pub exceptional_openings: Vec<ExceptionalPeriod>,
    #[serde(default)]
    pub exceptional_closings: Vec<ExceptionalPeriod>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ExceptionalPeriod {
    pub period_begin: Timestamp,
    pub period_end: Timestamp,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RegularHours {
    /// 1 (Monday) to 7 (Sunday).
    pub weekday: usize,
    /// `HH:MM`
    pub period_begin: String,
    /// `HH:MM`
    pub period_end: String,
}

/// A location is the same station however often it is updated: its id depends on its names alone.
const FIRST: i64 = 1_767_225_600_000;

impl Location {
    /// The charging station this location is. Its id follows from the location's own, so importing it again changes the
    /// same station.
    ///
    /// # Errors
    /// What does not fit: coordinates that are no numbers, an unknown country, a text that is too long.
    pub fn into_station(self) -> Result<ChargingStation> {
        let at = |what: &str, why: String| {
            Error::malformed(format!("location {}: {what}: {why}", self.id))
        };
        let degrees = |what: &str, text: &str, limit: f64| match text.parse::<f64>() {
            Ok(degrees) if degrees.abs() <= limit => Ok(degrees),
            _ => Err(at(what, format!("expected decimal degrees, not {text:?}"))),
        };
        let location = Point {
            latitude: degrees("latitude", &self.coordinates.latitude, 90.0)?,
            longitude: degrees("longitude", &self.coordinates.longitude, 180.0)?,
        };
        let country = country(&self.country).ok_or_else(|| at("country", self.country.clone()))?;
        let text =
            |what: &str, value: String| Memo::<256>::try_from(value).map_err(|why| at(what, why));
        let required = |what: &str, value: &str| {
            Text::<256>::try_from(value.to_owned()).map_err(|why| at(what, why))
        };
        let address = Address {
            city: required("city", &self.city)?,
            country,
            line1: required("address", &self.address)?,
            line2: Memo::default(),
            postal_code: self
                .postal_code
                .clone()
                .unwrap_or_else(|| "-".into())
                .try_into()
                .map_err(|why| at("postal_code", why))?,
            state: text("state", self.state.clone().unwrap_or_default())?,
        };
        let timezone = match &self.time_zone {
            Some(name) => {
                ZoneName::try_from(name.clone()).map_err(|why| at("time_zone", why.into()))?
            }
            None => ZoneName::utc(),
        };
        let reservable = self.evses.iter().any(is_reservable);
        let payment_methods = if self.evses.iter().any(|evse| {
            evse.capabilities
                .iter()
                .any(|word| word == "CREDIT_CARD_PAYABLE")
        }) {
            vec!["app".to_owned(), "card".to_owned()]
        } else {
            vec!["app".to_owned()]
        };
        let hours = self.opening_times.as_ref();
        let (access_24_7, opening_hours) = opening_hours(hours);
        let seed = format!("{}*{}*{}", self.country_code, self.party_id, self.id);
        let operator = self.operator.as_ref();
        let mut station = ChargingStation {
            id: Id::derived(
                Kind::ChargingStation,
                Timestamp::from_unix_millis(FIRST),
                &seed,
            ),
            object: Kind::ChargingStation,
            distance_meters: None,
            address,
            availability: Availability {
                connectors_available: 0,
                connectors_total: 0,
                exceptional_closings: ranges(hours.map(|hours| &hours.exceptional_closings)),
                exceptional_openings: ranges(hours.map(|hours| &hours.exceptional_openings)),
                opening_hours,
                range: Vec::new(),
            },
            capabilities: Capabilities {
                access_24_7,
                amenities: self
                    .facilities
                    .iter()
                    .map(|word| word.to_lowercase())
                    .collect(),
                payment_methods,
                requires_membership: false,
                reservable,
            },
            connectors: self
                .evses
                .iter()
                .filter(|evse| evse.status != EvseStatus::Removed)
                .flat_map(connectors)
                .collect(),
            created: self.last_updated,
            location,
            location_id: Some(self.id.clone()),
            name: self.name.clone().unwrap_or_else(|| self.address.clone()),
            operator: operator
                .map_or_else(|| self.party_id.clone(), |operator| operator.name.clone()),
            operator_contact: operator
                .and_then(|operator| operator.website.clone())
                .unwrap_or_default(),
            pricing: Vec::new(),
            status: StationStatus::Active,
            timezone,
            updated: self.last_updated,
        };
        station.count_connectors();
        Ok(station)
    }
}

fn is_reservable(evse: &Evse) -> bool {
    evse.capabilities.iter().any(|word| word == "RESERVABLE")
}

fn connectors(evse: &Evse) -> impl Iterator<Item = Connector> {
    let status = match evse.status {
        EvseStatus::Available => ConnectorStatus::Available,
        EvseStatus::Charging => ConnectorStatus::Occupied,
        EvseStatus::Reserved => ConnectorStatus::Reserved,
        EvseStatus::OutOfOrder => ConnectorStatus::Faulted,
        EvseStatus::Unknown => ConnectorStatus::Unknown,
        EvseStatus::Blocked
        | EvseStatus::Inoperative
        | EvseStatus::Planned
        | EvseStatus::Removed => ConnectorStatus::Unavailable,
    };
    evse.connectors.iter().map(move |connector| Connector {
        id: format!("{}-{}", evse.uid, connector.id),
        evse: evse.uid.clone(),
        evse_id: evse.evse_id.clone(),
        physical_reference: evse.physical_reference.clone(),
        power: kilowatts(connector),
        pricing: Vec::new(),
        reservable: is_reservable(evse),
        status,
        plug: plug(&connector.standard),
    })
}

/// The stated power, else what voltage, amperage and phases make.
fn kilowatts(connector: &OcpiConnector) -> f64 {
    let phases = if connector.power_type == "AC_3_PHASE" {
        3.0
    } else {
        1.0
    };
    let watts = connector
        .max_electric_power
        .unwrap_or(connector.max_voltage * connector.max_amperage * phases);
    (watts / 100.0).round() / 10.0
}

fn plug(standard: &str) -> Plug {
    match standard {
        "CHADEMO" => Plug::Matched(ConnectorType::Chademo),
        "IEC_62196_T1_COMBO" | "IEC_62196_T2_COMBO" => Plug::Matched(ConnectorType::Ccs),
        "IEC_62196_T2" => Plug::Matched(ConnectorType::Type2),
        other => Plug::Other(other.to_owned()),
    }
}

/// Whether access is round the clock, and the hours by day. Without any statement a location counts as always open.
fn opening_hours(hours: Option<&Hours>) -> (bool, Vec<OpeningHours>) {
    match hours {
        Some(hours) if !hours.twentyfourseven => {
            let line = |line: &RegularHours| {
                let day = *Weekday::ALL.get(line.weekday.checked_sub(1)?)?;
                Some(OpeningHours {
                    day,
                    from: line.period_begin.clone(),
                    until: line.period_end.clone(),
                })
            };
            (false, hours.regular_hours.iter().filter_map(line).collect())
        }
        _ => {
            let whole = |day: &Weekday| OpeningHours {
                day: *day,
                from: "00:00".into(),
                until: "00:00".into(),
            };
            (true, Weekday::ALL.iter().map(whole).collect())
        }
    }
}

/// The periods, in order. One that ends before it begins says nothing.
fn ranges(periods: Option<&Vec<ExceptionalPeriod>>) -> Vec<Range> {
    let range = |period: &ExceptionalPeriod| Range {
        from: period.period_begin,
        until: period.period_end,
    };
    let periods = periods.into_iter().flatten().map(range);
    let mut ranges: Vec<Range> = periods.filter(|one| one.from < one.until).collect();
    ranges.sort_by_key(|one| (one.from, one.until));
    ranges
}

/// Three-letter country codes, each followed by its two-letter one (ISO 3166-1).
const ALPHA_3: &str = "ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATAAQ ATFTF ATGAG AUSAU AUTAT AZEAZ BDIBI \
    BELBE BENBJ BESBQ BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO BRABR BRBBB BRNBN BTNBT \
    BVTBV BWABW CAFCF CANCA CCKCC CHECH CHLCL CHNCN CIVCI CMRCM CODCD COGCG COKCK COLCO COMKM CPVCV CRICR CUBCU \
    CUWCW CXRCX CYMKY CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK DOMDO DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET \
    FINFI FJIFJ FLKFK FRAFR FROFO FSMFM GABGA GBRGB GEOGE GGYGG GHAGH GIBGI GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR \
    GRDGD GRLGL GTMGT GUFGF GUMGU GUYGY HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN IOTIO IRLIE IRNIR \
    IRQIQ ISLIS ISRIL ITAIT JAMJM JEYJE JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB \
    LBRLR LBYLY LCALC LIELI LKALK LSOLS LTULT LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH \
    MKDMK MLIML MLTMT MMRMM MNEME MNGMN MNPMP MOZMZ MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA NCLNC NERNE \
    NFKNF NGANG NICNI NIUNU NLDNL NORNO NPLNP NRUNR NZLNZ OMNOM PAKPK PANPA PCNPN PERPE PHLPH PLWPW PNGPG POLPL \
    PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO RUSRU RWARW SAUSA SDNSD SENSN SGPSG SGSGS SHNSH SJMSJ \
    SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR SVKSK SVNSI SWESE SWZSZ SXMSX SYCSC SYRSY TCATC \
    TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO TTOTT TUNTN TURTR TUVTV TWNTW TZATZ UGAUG UKRUA UMIUM URYUY \
    USAUS UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS YEMYE ZAFZA ZMBZM ZWEZW";

fn country(alpha3: &str) -> Option<Country> {
    let pair = ALPHA_3
        .split_ascii_whitespace()
        .find(|pair| &pair[..3] == alpha3)?;
    Country::try_from(pair[3..].to_owned()).ok()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    fn location() -> serde_json::Value {
        json!({"country_code": "GB", "party_id": "ABC", "id": "L1", "publish": true, "name": "Bow Road", "address": "1 Bow Road",
            "city": "London", "postal_code": "E3 4HL", "country": "GBR",
            "coordinates": {"latitude": "51.5196", "longitude": "-0.0310"}, "operator": {"name": "Volts"},
            "evses": [{"uid": "1", "status": "AVAILABLE", "capabilities": ["RESERVABLE"], "connectors": [
                {"id": "1", "standard": "IEC_62196_T2", "format": "CABLE", "power_type": "AC_3_PHASE", "max_voltage": 230,
                 "max_amperage": 32, "last_updated": "2026-01-01T00:00:00Z"}], "last_updated": "2026-01-01T00:00:00Z"},
              {"uid": "2", "status": "OUTOFORDER", "connectors": [
                {"id": "1", "standard": "IEC_60309_2_three_32", "format": "SOCKET", "power_type": "DC", "max_voltage": 400,
                 "max_amperage": 125, "max_electric_power": 50000, "last_updated": "2026-01-01T00:00:00Z"}],
               "last_updated": "2026-01-01T00:00:00Z"}],
            "time_zone": "Europe/London", "opening_times": {"twentyfourseven": true}, "last_updated": "2026-01-01T00:00:00Z"})
    }

    /// A free Type2 connector of 22 kW with that id, an EVSE of its own.
    pub fn connector(id: &str) -> Connector {
        Connector {
            id: id.into(),
            evse: id.into(),
            evse_id: None,
            physical_reference: None,
            power: 22.0,
            pricing: Vec::new(),
            reservable: true,
            status: ConnectorStatus::Available,
            plug: Plug::Matched(ConnectorType::Type2),
        }
    }

    /// A station in London with one Type2 connector, reservable and always open.
    pub fn station() -> ChargingStation {
        serde_json::from_value::<Location>(location())
            .unwrap()
            .into_station()
            .unwrap()
    }

    #[test]
    fn a_location_becomes_a_station() {
        let station = station();
        assert_eq!(station.connectors[0].id, "1-1");
        assert_eq!(station.connectors[0].evse, "1");
        assert!(station.connectors[0].reservable && !station.connectors[1].reservable);
        assert_eq!(station.location_id.as_deref(), Some("L1"));
        assert_eq!(station.connectors[0].power, 22.1);
        assert_eq!(
            station.connectors[0].connector_type(),
            Some(ConnectorType::Type2)
        );
        assert_eq!(station.connectors[1].connector_type(), None);
        assert_eq!(station.connectors[1].status, ConnectorStatus::Faulted);
        assert_eq!(station.availability.connectors_available, 1);
        assert_eq!(station.availability.connectors_total, 2);
        assert_eq!(station.address.country.as_str(), "GB");
        let json = serde_json::to_value(&station).unwrap();
        assert_eq!(json["connectors"][0]["type"], "Type2");
        assert_eq!(json["connectors"][1]["type"], "IEC_60309_2_three_32");
        assert_eq!(json["capabilities"]["24_7_access"], true);
        assert_eq!(
            serde_json::from_value::<ChargingStation>(json).unwrap(),
            station
        );
    }

    #[test]
    fn the_same_location_is_the_same_station() {
        assert_eq!(station().id, station().id);
    }

    #[test]
    fn hours_by_weekday_are_kept() {
        let mut json = location();
        json["opening_times"] = json!({"twentyfourseven": false, "regular_hours": [
            {"weekday": 1, "period_begin": "08:00", "period_end": "20:00"}]});
        let station = serde_json::from_value::<Location>(json)
            .unwrap()
            .into_station()
            .unwrap();
        assert!(!station.capabilities.access_24_7);
        assert_eq!(station.availability.opening_hours[0].day, Weekday::Mon);
    }

    #[test]
    fn exceptional_periods_are_kept_in_order() {
        let period = |day: u8, from: u8, until: u8| {
            let at = |hour| format!("2026-12-{day}T{hour:02}:00:00Z");
            json!({"period_begin": at(from), "period_end": at(until)})
        };
        let mut json = location();
        json["opening_times"] = json!({"twentyfourseven": true,
            "exceptional_openings": [period(26, 5, 5)],
            "exceptional_closings": [period(25, 3, 5), period(24, 3, 5)]});
        let location: Location = serde_json::from_value(json).unwrap();
        let json = serde_json::to_value(location.into_station().unwrap()).unwrap();
        let closed = |day| {
            let at = |hour| format!("2026-12-{day}T{hour:02}:00:00.000Z");
            json!({"from": at(3), "until": at(5)})
        };
        let want = json!([closed(24), closed(25)]);
        assert_eq!(json["availability"]["exceptional_closings"], want);
        assert_eq!(json["availability"].get("exceptional_openings"), None);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (member, wrong, want) in [
            ("country", json!("XXX"), "country"),
            (
                "coordinates",
                json!({"latitude": "north", "longitude": "0"}),
                "latitude",
            ),
            ("time_zone", json!("Mars/Olympus"), "time_zone"),
        ] {
            let mut json = location();
            json[member] = wrong;
            let error = serde_json::from_value::<Location>(json)
                .unwrap()
                .into_station()
                .unwrap_err();
            assert!(error.to_string().contains(want), "{error}");
        }
    }
}
