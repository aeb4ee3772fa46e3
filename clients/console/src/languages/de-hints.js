// German hints of the fields of forms, by the first sentences of the descriptions in the OpenAPI document. They are
// loaded with the first form.

/** @type {Record<string, string>} */
export default {
  '-180 to 180.': '-180 bis 180.',
  '-90 to 90.': '-90 bis 90.',
  'A code of the list EAS, as EN 16931 permits it: 0204, 0088 and others with four digits, or EM for an email address.':
    'Ein Code der Liste EAS, den EN 16931 zulässt: 0204, 0088 und andere mit vier Ziffern, oder EM für eine E-Mail-Adresse.',
  'A memo shown on the invoice.': 'Ein Vermerk, den die Rechnung zeigt.',
  'A payment method of the driver or the account that pays when a request names none.':
    'Zahlungsmittel des Fahrers oder des Kontos, das bezahlt, wenn eine Anfrage keines nennt.',
  'A payment method of the fleet or the account that pays when neither the request nor the driver names one.':
    'Zahlungsmittel der Flotte oder des Kontos, das bezahlt, wenn weder Anfrage noch Fahrer eines nennen.',
  'API version of the events that are sent.': 'API-Version der gesendeten Ereignisse.',
  'Absolute https URL to which events are sent.': 'Vollständige https-Adresse, an die Ereignisse gesendet werden.',
  'Address for electronic invoices, such as a Peppol participant.':
    'Adresse für elektronische Rechnungen, etwa ein Peppol-Teilnehmer.',
  'Address in the scheme, to which electronic invoices are sent.':
    'Adresse in diesem Schema, an die elektronische Rechnungen gehen.',
  'Address that invoices show.': 'Adresse, die Rechnungen zeigen.',
  'Always rfid: only the service creates cards of the type app.':
    'Immer RFID: Karten vom Typ App erstellt nur der Dienst.',
  'Centre of the circle.': 'Mittelpunkt des Kreises.',
  'Circles of which a station has to lie in at least one.':
    'Kreise, von denen eine Station in mindestens einem liegen muss.',
  'Contact address of the fleet, which invoices show.': 'Kontaktadresse der Flotte, die Rechnungen zeigen.',
  'Default enforcement.': 'Ohne Angabe Durchsetzung.',
  'Details that invoices show of the fleet as the buyer.': 'Angaben, die Rechnungen über die Flotte als Käufer zeigen.',
  'Details that later invoices show of the fleet as the buyer, changed member by member.':
    'Angaben, die spätere Rechnungen über die Flotte als Käufer zeigen; einzeln änderbar.',
  'Email address of the driver.': 'E-Mail-Adresse des Fahrers.',
  'End of the billed period, exclusive, at most 366 days after period_start.':
    'Ende des abgerechneten Zeitraums, ausschließlich, höchstens 366 Tage nach dem Beginn.',
  'End of the period, exclusive, after period_start.': 'Ende des Zeitraums, ausschließlich, nach dem Beginn.',
  'End of the window, HH:MM.': 'Ende des Fensters, HH:MM.',
  'Format of the file.': 'Format der Datei.',
  'Format of the time t in Service-Signature.': 'Format der Zeit t in Service-Signature.',
  'Grouping of the rows.': 'Gruppierung der Zeilen.',
  'Headers by name that each request to the endpoint has in addition to those of the service.':
    'Kopfzeilen, die jede Anfrage an den Endpunkt neben denen des Dienstes hat.',
  'Headers that each request to the endpoint has.': 'Kopfzeilen, die jede Anfrage an den Endpunkt hat.',
  'How much of an object is shown in the events that are sent to the endpoint.':
    'Wie viel eines Objekts die Ereignisse zeigen, die an den Endpunkt gesendet werden.',
  "How often a report of the fleet is generated, if the account's reporting_enabled is true.":
    'Wie oft ein Bericht der Flotte erstellt wird, wenn Berichte für das Konto eingeschaltet sind.',
  'Ids of fleets: only events that belong to one of them are sent.':
    'Flotten: Nur Ereignisse, die zu einer von ihnen gehören, werden gesendet.',
  'Ids of fleets: only events that belong to one of them are sent; all events if it is empty.':
    'Flotten: Nur Ereignisse, die zu einer von ihnen gehören, werden gesendet; leer alle.',
  'Internal note about the endpoint.': 'Interne Notiz zum Endpunkt.',
  'Internal note about the fleet.': 'Interne Notiz zur Flotte.',
  'Internal note about the policy.': 'Interne Notiz zur Richtlinie.',
  "Kind of payment method. wallet pays from the owner's wallet_balance.": 'Art des Zahlungsmittels.',
  'Length of the period after which invoices of the fleet are drafted, at midnight in its time zone.':
    'Länge des Zeitraums, nach dem Rechnungen der Flotte entworfen werden, um Mitternacht in ihrer Zeitzone.',
  'Limits that reservations and sessions have to fulfil, all of them together.':
    'Grenzen, die Reservierungen und Ladevorgänge einhalten müssen, alle zugleich.',
  'Make, model and year, changed member by member.': 'Marke, Modell und Jahr; einzeln änderbar.',
  'Make, model and year.': 'Marke, Modell und Jahr.',
  'Maximum number of requests per second that are sent to the endpoint.':
    'Wie viele Anfragen der Endpunkt in einer Sekunde höchstens erhält.',
  'Name of the area.': 'Name des Gebiets.',
  'Name of the driver, which invoices and reports show.': 'Name des Fahrers, den Rechnungen und Berichte zeigen.',
  'Name of the fleet.': 'Name der Flotte.',
  'Name of the policy, which warnings and refusals show.': 'Name der Richtlinie, den Warnungen und Ablehnungen zeigen.',
  'Name of the program that receives the events.': 'Name des Programms, das die Ereignisse empfängt.',
  'Name shown in lists.': 'Name in Listen.',
  'Names of operators that are forbidden, even if they are allowed too.':
    'Namen verbotener Betreiber, auch wenn sie erlaubt sind.',
  'Names of operators that matching prefers.': 'Namen von Betreibern, die bei der Auswahl bevorzugt werden.',
  'Names of the only operators that are allowed.': 'Namen der einzigen erlaubten Betreiber.',
  'Number of the buyer in its commercial register.': 'Nummer des Käufers im Handelsregister.',
  'Number of the driving licence.': 'Nummer des Führerscheins.',
  'Number that is printed on the card.': 'Nummer, die auf der Karte steht.',
  'Only active policies apply.': 'Nur aktive Richtlinien gelten.',
  'Permissions of a restricted key; without them the key has full access.':
    'Rechte eines beschränkten Schlüssels; ohne Angabe hat er vollen Zugriff.',
  'Plug of the vehicle.': 'Stecker des Fahrzeugs.',
  'Postal address of the fleet.': 'Postanschrift der Flotte.',
  'Postal or ZIP code in the form of the country.': 'Postleitzahl in der Form des Landes.',
  'Registered name that invoices show.': 'Eingetragener Name, den Rechnungen zeigen.',
  'Registration plate, which invoices and reports show.': 'Kennzeichen, das Rechnungen und Berichte zeigen.',
  'Replaces all stations, at most 20.': 'Ersetzt alle Stationen, höchstens 20.',
  'Rules to change.': 'Regeln, die geändert werden.',
  'Settings for billing, payment and reports, changed member by member.':
    'Einstellungen für Abrechnung, Zahlung und Berichte; einzeln änderbar.',
  'Settings for billing, payment and reports.': 'Einstellungen für Abrechnung, Zahlung und Berichte.',
  'Settings for matching and payment, changed member by member.':
    'Einstellungen für die Auswahl der Station und die Zahlung; einzeln änderbar.',
  'Settings for matching and payment.': 'Einstellungen für die Auswahl der Station und die Zahlung.',
  'Speed of charging that matching prefers.': 'Ladegeschwindigkeit, die bei der Auswahl bevorzugt wird.',
  'Start of the billed period, inclusive: sessions that ended at or after this moment.':
    'Beginn des abgerechneten Zeitraums, einschließlich: Ladevorgänge, die ab diesem Zeitpunkt endeten.',
  'Start of the period, inclusive: sessions that ended at or after this moment.':
    'Beginn des Zeitraums, einschließlich: Ladevorgänge, die ab diesem Zeitpunkt endeten.',
  'Start of the window, HH:MM.': 'Beginn des Fensters, HH:MM.',
  'Street and house number, or the post office box.': 'Straße und Hausnummer, oder das Postfach.',
  'System of units that the fleet prefers.': 'Maßsystem, das die Flotte bevorzugt.',
  'Telephone number of the driver.': 'Telefonnummer des Fahrers.',
  'Telephone number of the fleet.': 'Telefonnummer der Flotte.',
  'Text that the buyer requires on its invoices, such as the number of an order.':
    'Text, den der Käufer auf seinen Rechnungen verlangt, etwa eine Bestellnummer.',
  'Text that the invoice shows.': 'Text, den die Rechnung zeigt.',
  'The days on which the window begins; empty means every day.':
    'Die Tage, an denen das Fenster beginnt; leer heißt jeden Tag.',
  'The driver who charges with the card.': 'Der Fahrer, der mit der Karte lädt.',
  'The driver who holds the card from now on.': 'Fahrer, der die Karte von nun an hat.',
  'The driver who owns it; not together with fleet.': 'Der Fahrer, dem es gehört; nicht zusammen mit einer Flotte.',
  "The driver's favourite stations, which matching prefers.":
    'Lieblingsstationen des Fahrers, die bei der Auswahl bevorzugt werden.',
  'The drivers who may use the vehicle, at most 90.': 'Fahrer, die das Fahrzeug benutzen dürfen, höchstens 90.',
  'The fleet that owns it; not together with driver.': 'Die Flotte, der es gehört; nicht zusammen mit einem Fahrer.',
  'The fleet that the vehicle belongs to.': 'Flotte, zu der das Fahrzeug gehört.',
  'The fleet to which the invoice is limited.': 'Die Flotte, auf die sich die Rechnung beschränkt.',
  'The fleet to which the report is limited.': 'Die Flotte, auf die sich der Bericht beschränkt.',
  'The ids of its charging stations, at most 20.': 'Seine Ladestationen, höchstens 20.',
  "The payment provider's token for the card or bank account; never its number.":
    'Das Token des Zahlungsdienstes für die Karte oder das Bankkonto; nie deren Nummer.',
  'The policies of the driver.': 'Richtlinien des Fahrers.',
  'The policies of the fleet.': 'Richtlinien der Flotte.',
  'The policies of the vehicle.': 'Richtlinien des Fahrzeugs.',
  'The policies that all reservations and sessions of the fleet have to fulfil.':
    'Richtlinien, die alle Reservierungen und Ladevorgänge der Flotte erfüllen müssen.',
  "The policies that the driver's reservations and sessions have to fulfil, besides those of the fleet and the vehicle.":
    'Richtlinien, die Reservierungen und Ladevorgänge des Fahrers erfüllen müssen, neben denen von Flotte und Fahrzeug.',
  "The policies that the vehicle's reservations and sessions have to fulfil, besides those of the fleet and the driver.":
    'Richtlinien, die Reservierungen und Ladevorgänge des Fahrzeugs erfüllen müssen, neben denen von Flotte und Fahrer.',
  'The quantity that the plan minimizes, once every need is met.':
    'Was der Plan möglichst klein hält, sobald jeder Bedarf gedeckt ist.',
  'The site at which the vehicle charges for its departures.':
    'Der Standort, an dem das Fahrzeug für seine Abfahrten lädt.',
  'The type of the report.': 'Die Art des Berichts.',
  'The vehicle that is charged with the card.': 'Das Fahrzeug, das mit der Karte geladen wird.',
  'The vehicle that the card belongs to from now on.': 'Fahrzeug, zu dem die Karte von nun an gehört.',
  'Time at which the card expires, in the future.': 'Zeitpunkt in der Zukunft, zu dem die Karte abläuft.',
  'Time at which the card expires.': 'Zeitpunkt, zu dem die Karte abläuft.',
  'Time by which the invoice has to be paid.': 'Zeitpunkt, bis zu dem die Rechnung zu bezahlen ist.',
  'Time from which the key is refused, in the future.':
    'Zeitpunkt in der Zukunft, ab dem der Schlüssel abgelehnt wird.',
  "Times of the week of which one has to contain the whole reserved window, in the fleet's time zone.":
    'Zeiten der Woche, von denen eine das ganze reservierte Zeitfenster enthalten muss, in der Zeitzone der Flotte.',
  'Town or city.': 'Ort.',
  'Type, period, grouping and filters of the report.': 'Art, Zeitraum, Gruppierung und Filter des Berichts.',
  'Types of the events that the endpoint receives; * is every type.':
    'Typen der Ereignisse, die der Endpunkt empfängt; * ist jeder Typ.',
  'Unique number of the card, as the reader of a charging station reads it.':
    'Eindeutige Nummer der Karte, wie die Ladestation sie liest.',
  'VAT identifier with the prefix of its country, such as DE123456789.':
    'Umsatzsteuer-Identifikationsnummer mit Länderkürzel, etwa DE123456789.',
  'Vehicle identification number.': 'Fahrzeug-Identifikationsnummer.',
  'When the limit holds, in the time zone of the site; empty means always.':
    'Wann die Grenze gilt, in der Zeitzone des Standorts; leer heißt immer.',
  'Whether drivers of the fleet receive session status notifications.':
    'Ob Fahrer der Flotte Benachrichtigungen über Ladevorgänge erhalten.',
  'Whether the driver may reserve and charge.': 'Ob der Fahrer reservieren und laden darf.',
  'Whether the driver should receive notifications.': 'Ob der Fahrer Benachrichtigungen erhalten soll.',
  'Whether the events of an object are sent in their order, one at a time.':
    'Ob die Ereignisse eines Objekts in ihrer Reihenfolge gesendet werden, eines nach dem anderen.',
  'Whether the fleet may reserve and charge.': 'Ob die Flotte reservieren und laden darf.',
  'Whether the limit is never exceeded, or exceeded only to meet a need.':
    'Ob die Grenze nie überschritten wird, oder nur, um einen Bedarf zu erfüllen.',
  'Whether the policy blocks what it forbids, or only warns.':
    'Ob die Richtlinie verhindert, was sie verbietet, oder nur warnt.',
  'Whether the vehicle can be charged and have reservations.': 'Ob das Fahrzeug laden und Reservierungen haben kann.',
  'active, blocked or lost.': 'Aktiv, gesperrt oder verloren.',
  'disabled stops deliveries; enabled resumes them.':
    'Abgeschaltet hält Zustellungen an; eingeschaltet setzt sie fort.',
  'polling for an endpoint whose events are read by the client.':
    'Abfrage für einen Endpunkt, dessen Ereignisse gelesen werden.',
};
