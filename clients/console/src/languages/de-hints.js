// German hints of the fields of forms, by the descriptions of the OpenAPI document. They are loaded with the first
// form.

/** @type {Record<string, string>} */
export default {
  '"" when unset.': 'Leer, wenn nicht gesetzt.',
  '* is everything; <resource>:write includes reading.': '* ist alles; <resource>:write schließt das Lesen ein.',
  '-180 to 180.': '-180 bis 180.',
  '-90 to 90.': '-90 bis 90.',
  'A card that has expired becomes active when this is moved into the future or removed.':
    'Eine abgelaufene Karte wird wieder aktiv, wenn dies in die Zukunft verlegt oder entfernt wird.',
  'A code of the list EAS: four digits, such as 0204, or EM for an email address.':
    'Ein Code der Liste EAS: vier Ziffern, etwa 0204, oder EM für eine E-Mail-Adresse.',
  'A limit on the power of all vehicles and reservations of the site together.':
    'Eine Grenze für die Leistung aller Fahrzeuge und Reservierungen des Standorts zusammen.',
  'A memo shown on the invoice.': 'Ein Vermerk, den die Rechnung zeigt.',
  'A point of a charging curve.': 'Ein Punkt einer Ladekurve.',
  'A type of events; * is every type.': 'Ein Typ von Ereignissen; * ist jeder Typ.',
  'Absolute https URL to which events are sent.': 'Vollständige https-Adresse, an die Ereignisse gesendet werden.',
  'Absolute https URL to which events are sent. Needed unless type is polling, and refused then.':
    'Vollständige https-Adresse, an die Ereignisse gesendet werden. Nötig, außer bei einem Abfrage-Endpunkt.',
  'Address for electronic invoices, such as a Peppol participant. Null removes it.':
    'Adresse für elektronische Rechnungen, etwa ein Peppol-Teilnehmer.',
  'Address in the scheme, to which electronic invoices are sent.':
    'Adresse in diesem Schema, an die elektronische Rechnungen gehen.',
  "Address that invoices show. Null: the fleet's address.":
    'Adresse, die Rechnungen zeigen. Ohne Angabe die der Flotte.',
  'Always rfid: the service makes the cards of the type app.': 'Immer RFID: Karten vom Typ App macht der Dienst.',
  'At most 20. Default: none.': 'Höchstens 20. Ohne Angabe keine.',
  'Centre of the circle.': 'Mittelpunkt des Kreises.',
  'Changed rule by rule.': 'Regel für Regel änderbar.',
  'Circles of which a station has to lie in at least one. An empty list or null: anywhere.':
    'Kreise, von denen eine Station in mindestens einem liegen muss. Leer: überall.',
  'Contact address of the fleet, which invoices show.': 'Kontaktadresse der Flotte, die Rechnungen zeigen.',
  'Country of the address.': 'Land der Adresse.',
  "Currency of the driver's reservations.": 'Währung der Reservierungen des Fahrers.',
  "Currency of the fleet's invoices, and of reservations of drivers that prefer no other one.":
    'Währung der Rechnungen der Flotte und der Reservierungen von Fahrern, die keine andere wünschen.',
  'Default UTC.': 'Ohne Angabe UTC.',
  'Default csv.': 'Ohne Angabe CSV.',
  'Default enforcement.': 'Ohne Angabe Durchsetzung.',
  'Default international_system.': 'Ohne Angabe das internationale System.',
  'Default rfc3339.': 'Ohne Angabe RFC 3339.',
  'Default snapshot.': 'Ohne Angabe Abbild.',
  'Default: a charging_summary of the last full calendar month, UTC.':
    'Ohne Angabe eine Ladeübersicht des letzten vollen Kalendermonats, UTC.',
  'Default: no limit.': 'Ohne Angabe keine Grenze.',
  'Default: one row for all sessions of a currency.': 'Ohne Angabe eine Zeile für alle Ladevorgänge einer Währung.',
  "Default: the account's version.": 'Ohne Angabe die Version des Kontos.',
  'Default: the currency of the account.': 'Ohne Angabe die Währung des Kontos.',
  "Default: the fleet's currency, else the account's. Sessions in others are left for an invoice in theirs.":
    'Ohne Angabe die Währung der Flotte, sonst die des Kontos. Ladevorgänge in anderen bleiben für eine Rechnung in ihrer.',
  'Details that invoices show of the fleet as the buyer.': 'Angaben, die Rechnungen über die Flotte als Käufer zeigen.',
  'Details that later invoices show of the fleet as the buyer, changed member by member.':
    'Angaben, die spätere Rechnungen über die Flotte als Käufer zeigen; einzeln änderbar.',
  'Email address of the driver.': 'E-Mail-Adresse des Fahrers.',
  'Exclusive, after period_start by at most 366 days.': 'Ausschließlich, höchstens 366 Tage nach dem Beginn.',
  'Exclusive, after period_start.': 'Ausschließlich, nach dem Beginn.',
  'Form of the time in Service-Signature.': 'Form der Zeit in Service-Signature.',
  'HH:MM': 'HH:MM',
  'HH:MM; at or before start_time it lies on the next day.': 'HH:MM; nicht nach dem Beginn liegt es am nächsten Tag.',
  'Headers that each request to the endpoint carries.': 'Kopfzeilen, die jede Anfrage an den Endpunkt trägt.',
  'Headers that each request to the endpoint carries. Headers that the body does not name keep their values.':
    'Kopfzeilen, die jede Anfrage an den Endpunkt trägt. Nicht genannte behalten ihre Werte.',
  'Highest effective price that the driver accepts, in minor units of currency per kWh with tax. Null removes the limit.':
    'Höchster Preis, den der Fahrer annimmt, in der kleinsten Einheit der Währung je kWh mit Steuer.',
  'How much of an object the events show that are sent to the endpoint.':
    'Wie viel eines Objekts die Ereignisse zeigen, die an den Endpunkt gesendet werden.',
  "How often a report of the fleet is generated, if the account's reporting_enabled is true.":
    'Wie oft ein Bericht der Flotte erstellt wird, wenn Berichte für das Konto eingeschaltet sind.',
  'IANA time zone of the weekly schedules of the limits, such as Europe/London.':
    'IANA-Zeitzone der Wochenpläne der Grenzen, etwa Europe/London.',
  'IANA time zone of the weekly schedules of the limits.': 'IANA-Zeitzone der Wochenpläne der Grenzen.',
  'Id of a payment method of the driver, the fleet or the account that pays when a request names none. Null removes it.':
    'Zahlungsmittel des Fahrers, der Flotte oder des Kontos, das bezahlt, wenn eine Anfrage keines nennt.',
  'Id of a payment method of the fleet or the account that pays when neither the request nor the driver names one. Null removes it.':
    'Zahlungsmittel der Flotte oder des Kontos, das bezahlt, wenn weder Anfrage noch Fahrer eines nennen.',
  'Id of the driver who holds the card from now on. Null removes the driver.': 'Fahrer, der die Karte von nun an hat.',
  'Id of the fleet that the vehicle belongs to.': 'Flotte, zu der das Fahrzeug gehört.',
  'Id of the vehicle that the card belongs to from now on. Null removes the vehicle.':
    'Fahrzeug, zu dem die Karte von nun an gehört.',
  'Ids of fleets: only events that belong to one of them are sent. Default: all events.':
    'Flotten: Nur Ereignisse, die zu einer von ihnen gehören, werden gesendet. Ohne Angabe alle.',
  'Ids of fleets: only events that belong to one of them are sent; all events if it is empty. The list replaces the present one.':
    'Flotten: Nur Ereignisse, die zu einer von ihnen gehören, werden gesendet; leer alle. Die Liste ersetzt die jetzige.',
  "Ids of the driver's favourite stations, which matching prefers.":
    'Lieblingsstationen des Fahrers, die bei der Auswahl bevorzugt werden.',
  'Ids of the drivers who may use the vehicle.': 'Fahrer, die das Fahrzeug benutzen dürfen.',
  'Ids of the policies of the driver. The list replaces the present one.':
    'Richtlinien des Fahrers. Die Liste ersetzt die jetzige.',
  'Ids of the policies of the fleet. The list replaces the present one.':
    'Richtlinien der Flotte. Die Liste ersetzt die jetzige.',
  'Ids of the policies of the vehicle. The list replaces the present one.':
    'Richtlinien des Fahrzeugs. Die Liste ersetzt die jetzige.',
  'Ids of the policies that all reservations and sessions of the fleet have to fulfil.':
    'Richtlinien, die alle Reservierungen und Ladevorgänge der Flotte erfüllen müssen.',
  "Ids of the policies that the driver's reservations and sessions have to fulfil, besides those of the fleet and the vehicle.":
    'Richtlinien, die Reservierungen und Ladevorgänge des Fahrers erfüllen müssen, neben denen von Flotte und Fahrzeug.',
  "Ids of the policies that the vehicle's reservations and sessions have to fulfil, besides those of the fleet and the driver.":
    'Richtlinien, die Reservierungen und Ladevorgänge des Fahrzeugs erfüllen müssen, neben denen von Flotte und Fahrer.',
  'In the future.': 'In der Zukunft.',
  'In the future. A key that expires makes only keys that expire no later than itself.':
    'In der Zukunft. Ein Schlüssel, der abläuft, erstellt nur Schlüssel, die nicht später ablaufen.',
  "In the order of the calendar's week.": 'In der Reihenfolge der Woche.',
  'Inclusive: sessions that ended at or after this moment.':
    'Einschließlich: Ladevorgänge, die ab diesem Zeitpunkt endeten.',
  'Inclusive: sessions that ended at or after this moment; those still active count by their start.':
    'Einschließlich: Ladevorgänge, die ab diesem Zeitpunkt endeten; laufende zählen nach ihrem Beginn.',
  'Internal note about the endpoint.': 'Interne Notiz zum Endpunkt.',
  'Internal note about the endpoint. Null removes it.': 'Interne Notiz zum Endpunkt.',
  'Internal note about the fleet. "" removes it.': 'Interne Notiz zur Flotte.',
  'Internal note about the fleet. Default "".': 'Interne Notiz zur Flotte.',
  'Internal note about the policy.': 'Interne Notiz zur Richtlinie.',
  'Internal note about the policy. Null removes it.': 'Interne Notiz zur Richtlinie.',
  "Kind of payment method. wallet pays from the owner's wallet_balance.":
    'Art des Zahlungsmittels. Guthaben zahlt vom Guthaben des Inhabers.',
  'Length of the period after which invoices of the fleet are drafted, at midnight in its time zone.':
    'Länge des Zeitraums, nach dem Rechnungen der Flotte entworfen werden, um Mitternacht in ihrer Zeitzone.',
  'Limits that reservations and sessions have to fulfil, all of them together.':
    'Grenzen, die Reservierungen und Ladevorgänge einhalten müssen, alle zugleich.',
  'Limits the invoice to one fleet.': 'Beschränkt die Rechnung auf eine Flotte.',
  'Limits the report to one fleet.': 'Beschränkt den Bericht auf eine Flotte.',
  'Make, model and year, changed member by member.': 'Marke, Modell und Jahr; einzeln änderbar.',
  'Make, model and year.': 'Marke, Modell und Jahr.',
  'Manufacturer. "" removes it.': 'Hersteller.',
  'Minor units per kWh, tax included; it may have a fraction.':
    'Kleinste Einheit der Währung je kWh mit Steuer; auch Bruchteile.',
  'Model year. "" removes it.': 'Modelljahr.',
  'Model. "" removes it.': 'Modell.',
  'More than 0, at most 50,000,000.': 'Mehr als 0, höchstens 50.000.000.',
  'Most requests that are sent to the endpoint in a second. Null removes the limit.':
    'Wie viele Anfragen der Endpunkt in einer Sekunde höchstens erhält.',
  'Name of the area.': 'Name des Gebiets.',
  'Name of the driver, which invoices and reports show.': 'Name des Fahrers, den Rechnungen und Berichte zeigen.',
  'Name of the fleet. Invoices show it as the buyer unless billing_details.legal_name is set.':
    'Name der Flotte. Rechnungen zeigen ihn als Käufer, wenn keine Firma gesetzt ist.',
  'Name of the policy, which warnings and refusals show.': 'Name der Richtlinie, den Warnungen und Ablehnungen zeigen.',
  'Name of the program that receives the events.': 'Name des Programms, das die Ereignisse empfängt.',
  'Name of the program that receives the events. Null removes it.': 'Name des Programms, das die Ereignisse empfängt.',
  'Name shown in lists, at most 100 characters.': 'Name in Listen, höchstens 100 Zeichen.',
  'Names of operators that are forbidden, even if they are allowed too. An empty list or null: none.':
    'Namen verbotener Betreiber, auch wenn sie erlaubt sind. Leer: keine.',
  'Names of operators that matching prefers.': 'Namen von Betreibern, die bei der Auswahl bevorzugt werden.',
  'Names of the only operators that are allowed. An empty list or null: all.':
    'Namen der einzigen erlaubten Betreiber. Leer: alle.',
  'Number of the buyer in its commercial register. Null removes it.': 'Nummer des Käufers im Handelsregister.',
  'Number of the driving licence.': 'Nummer des Führerscheins.',
  'Number of the driving licence. Null removes it.': 'Nummer des Führerscheins.',
  'Number that is printed on the card.': 'Nummer, die auf der Karte steht.',
  'Number that is printed on the card. Null removes it.': 'Nummer, die auf der Karte steht.',
  'Only active policies apply.': 'Nur aktive Richtlinien gelten.',
  'Pairs to set; a null or empty value removes its key.':
    'Paare, die gesetzt werden; ein leerer Wert entfernt seinen Namen.',
  'Percent.': 'Prozent.',
  'Plug of the vehicle.': 'Stecker des Fahrzeugs.',
  'Postal address of the fleet. Invoices show it unless billing_details.billing_address is set.':
    'Postanschrift der Flotte. Rechnungen zeigen sie, wenn keine Rechnungsadresse gesetzt ist.',
  'Postal or ZIP code in the form of the country.': 'Postleitzahl in der Form des Landes.',
  'Power that the vehicle takes by state of charge. Null removes it.':
    'Leistung, die das Fahrzeug je nach Füllstand aufnimmt.',
  'Registered name that invoices show. Null: the name.':
    'Eingetragener Name, den Rechnungen zeigen. Ohne Angabe der Name.',
  'Registration plate, which invoices and reports show.': 'Kennzeichen, das Rechnungen und Berichte zeigen.',
  'Replaces all limits.': 'Ersetzt alle Grenzen.',
  'Replaces all stations.': 'Ersetzt alle Stationen.',
  'Required unless driver is given.': 'Nötig, wenn kein Fahrer angegeben ist.',
  'Required unless vehicle is given.': 'Nötig, wenn kein Fahrzeug angegeben ist.',
  'Settings for billing, payment and reports, changed member by member.':
    'Einstellungen für Abrechnung, Zahlung und Berichte; einzeln änderbar.',
  'Settings for billing, payment and reports.': 'Einstellungen für Abrechnung, Zahlung und Berichte.',
  'Settings for matching and payment, changed member by member.':
    'Einstellungen für die Auswahl der Station und die Zahlung; einzeln änderbar.',
  'Settings for matching and payment.': 'Einstellungen für die Auswahl der Station und die Zahlung.',
  'Speed of charging that matching prefers. Other stations are not excluded.':
    'Ladegeschwindigkeit, die bei der Auswahl bevorzugt wird. Andere Stationen sind nicht ausgeschlossen.',
  'Street and house number, or the post office box.': 'Straße und Hausnummer, oder das Postfach.',
  'System of units that the fleet prefers. It is stored and returned only.':
    'Maßsystem, das die Flotte bevorzugt. Es wird nur gespeichert und zurückgegeben.',
  'Telephone number of the driver.': 'Telefonnummer des Fahrers.',
  'Telephone number of the driver. Null removes it.': 'Telefonnummer des Fahrers.',
  'Telephone number of the fleet.': 'Telefonnummer der Flotte.',
  'Telephone number of the fleet. Null removes it.': 'Telefonnummer der Flotte.',
  'Text that the buyer wants to find on its invoices, such as the number of an order. Null removes it.':
    'Text, den der Käufer auf seinen Rechnungen finden will, etwa eine Bestellnummer.',
  'Text that the invoice shows. Null removes it.': 'Text, den die Rechnung zeigt.',
  'The days on which the window begins; empty means every day.':
    'Die Tage, an denen das Fenster beginnt; leer heißt jeden Tag.',
  'The driver who owns it; not together with fleet. Without either the account does.':
    'Der Fahrer, dem es gehört; nicht zusammen mit einer Flotte. Ohne beide gehört es dem Konto.',
  'The fleet that owns it; not together with driver.': 'Die Flotte, der es gehört; nicht zusammen mit einem Fahrer.',
  'The ids of its charging stations, at most 20. A station belongs to at most one site of the account.':
    'Seine Ladestationen, höchstens 20. Eine Station gehört zu höchstens einem Standort des Kontos.',
  'The language of the labels in documents. Null: en.':
    'Die Sprache der Beschriftungen in Belegen. Ohne Angabe Englisch.',
  'The site at which the vehicle charges for its departures.':
    'Der Standort, an dem das Fahrzeug für seine Abfahrten lädt.',
  'Time by which the invoice has to be paid.': 'Zeitpunkt, bis zu dem die Rechnung zu bezahlen ist.',
  'Time zone of billing periods, reports and the time windows of policies.':
    'Zeitzone der Abrechnungszeiträume, der Berichte und der Zeitfenster von Richtlinien.',
  "Times of the week of which one has to contain the whole reserved window, in the fleet's time zone. An empty list or null: any time.":
    'Zeiten der Woche, von denen eine das ganze reservierte Zeitfenster enthalten muss, in der Zeitzone der Flotte. Leer: jederzeit.',
  'Town or city.': 'Ort.',
  'Types of the events that the endpoint receives; * is every type.':
    'Typen der Ereignisse, die der Endpunkt empfängt; * ist jeder Typ.',
  'Types of the events that the endpoint receives; * is every type. The list replaces the present one.':
    'Typen der Ereignisse, die der Endpunkt empfängt; * ist jeder Typ. Die Liste ersetzt die jetzige.',
  'Unique number of the card, as the reader of a charging station reads it. Not case-sensitive.':
    'Eindeutige Nummer der Karte, wie die Ladestation sie liest. Groß- und Kleinschreibung zählen nicht.',
  'VAT identifier with the prefix of its country, such as DE123456789. Null removes it.':
    'Umsatzsteuer-Identifikationsnummer mit Länderkürzel, etwa DE123456789.',
  'Vehicle identification number.': 'Fahrzeug-Identifikationsnummer.',
  'Version of the events that are sent.': 'Version der gesendeten Ereignisse.',
  'What a restricted key may do; without it the key has full access. At most the scopes of the key that makes it.':
    'Was ein beschränkter Schlüssel darf; ohne Angabe hat er vollen Zugriff. Höchstens die Rechte des Schlüssels, der ihn erstellt.',
  'What the report shows.': 'Was der Bericht zeigt.',
  'When the limit holds, in the time zone of the site; empty means always.':
    'Wann die Grenze gilt, in der Zeitzone des Standorts; leer heißt immer.',
  'Whether drivers of the fleet receive session status notifications.':
    'Ob Fahrer der Flotte Benachrichtigungen über Ladevorgänge erhalten.',
  'Whether the driver may reserve and charge. One that is not active makes no new reservations and sessions.':
    'Ob der Fahrer reservieren und laden darf. Ist er nicht aktiv, entstehen keine neuen Reservierungen und Ladevorgänge.',
  'Whether the driver wants notifications. It is stored and returned only.':
    'Ob der Fahrer Benachrichtigungen wünscht. Es wird nur gespeichert und zurückgegeben.',
  'Whether the events of an object are sent in their order, one at a time. It cannot be changed later. Default false.':
    'Ob die Ereignisse eines Objekts in ihrer Reihenfolge gesendet werden, eines nach dem anderen. Später nicht änderbar. Ohne Angabe nein.',
  'Whether the fleet may reserve and charge. One that is not active makes no new reservations and sessions.':
    'Ob die Flotte reservieren und laden darf. Ist sie nicht aktiv, entstehen keine neuen Reservierungen und Ladevorgänge.',
  'Whether the limit is never exceeded, or exceeded only to meet a need.':
    'Ob die Grenze nie überschritten wird, oder nur, um einen Bedarf zu erfüllen.',
  'Whether the policy blocks what it forbids, or only warns.':
    'Ob die Richtlinie verhindert, was sie verbietet, oder nur warnt.',
  'Whether the vehicle may be reserved for and charged.':
    'Ob für das Fahrzeug reserviert und ob es geladen werden darf.',
  'disabled stops deliveries; enabled resumes them.':
    'Abgeschaltet hält Zustellungen an; eingeschaltet setzt sie fort.',
  'polling for an endpoint whose events are read. It cannot be changed later. Default webhook.':
    'Abfrage für einen Endpunkt, dessen Ereignisse gelesen werden. Später nicht änderbar. Ohne Angabe Webhook.',
};
