// Names of places that are others in German or English than in the gazetteer. A line has the code of the country, the
// name in the gazetteer, the German name, and the English one where it is another than that of the gazetteer.

export const EXONYMS = `
AM Yerevan|Jerewan
AT Vienna|Wien
BE Antwerpen|Antwerpen|Antwerp
BE Brugge|Brügge|Bruges
BE Brussels|Brüssel
BE Gent|Gent|Ghent
BE Kortrijk|Kortrijk|Courtrai
BE Leuven|Löwen|Louvain
BE Liège|Lüttich
BE Mechelen|Mecheln
BE Mons|Bergen
BE Ostend|Ostende
BY Hrodna|Grodno|Grodno
CH Biel/Bienne|Biel|Bienne
CH Fribourg|Freiburg im Üechtland
CH Genève|Genf|Geneva
CH Luzern|Luzern|Lucerne
CH Neuchâtel|Neuenburg
CH Sankt Gallen|St. Gallen|St. Gallen
CH Zürich|Zürich|Zurich
CN Beijing|Peking
CU Havana|Havanna
CY Nicosia|Nikosia
CZ Brno|Brünn
CZ Liberec|Reichenberg
CZ Olomouc|Olmütz
CZ Ostrava|Ostrau
CZ Pilsen|Pilsen|Plzen
CZ Prague|Prag
CZ České Budějovice|Budweis|Ceske Budejovice
DE Braunschweig|Braunschweig|Brunswick
DE Hannover|Hannover|Hanover
DE Koblenz|Koblenz|Coblenz
DE Köln|Köln|Cologne
DE Munich|München
DE Nürnberg|Nürnberg|Nuremberg
DK Copenhagen|Kopenhagen
DK Århus|Aarhus|Aarhus
DZ Algiers|Algier
EG Cairo|Kairo
EG Giza|Gizeh
ES Sevilla|Sevilla|Seville
ES Zaragoza|Saragossa|Saragossa
ET Addis Ababa|Addis Abeba
FR Dunkerque|Dünkirchen|Dunkirk
FR Lyon|Lyon|Lyons
FR Mulhouse|Mülhausen
FR Nice|Nizza
FR Strasbourg|Straßburg
GE Tbilisi|Tiflis
GR Athens|Athen
GR Irákleion|Heraklion|Heraklion
GR Piraeus|Piräus
GR Pátra|Patras|Patras
GR Thessaloníki|Thessaloniki|Salonica
IE Gaillimh|Galway|Galway
IE Luimneach|Limerick|Limerick
IQ Baghdad|Bagdad
IR Tehran|Teheran
IT Bolzano|Bozen
IT Florence|Florenz
IT Genoa|Genua
IT Livorno|Livorno|Leghorn
IT Merano|Meran
IT Milan|Mailand
IT Naples|Neapel
IT Padova|Padua|Padua
IT Rome|Rom
IT Siracusa|Syrakus|Syracuse
IT Trento|Trient
IT Turin|Turin|Torino
IT Venice|Venedig
JP Tokyo|Tokio
LT Klaipėda|Memel
LU Luxembourg|Luxemburg
LY Tripoli|Tripolis
MA Fès|Fès|Fez
MA Marrakesh|Marrakesch
MX Mexico City|Mexiko-Stadt
NL Nijmegen|Nimwegen
NL The Hague|Den Haag
PL Częstochowa|Tschenstochau
PL Gdańsk|Danzig
PL Gliwice|Gleiwitz
PL Katowice|Kattowitz
PL Kraków|Krakau|Cracow
PL Olsztyn|Allenstein
PL Poznań|Posen
PL Szczecin|Stettin
PL Toruń|Thorn
PL Warsaw|Warschau
PL Wrocław|Breslau
PL Łódź|Lodz|Lodz
PT Lisbon|Lissabon
PT Porto|Porto|Oporto
RO Braşov|Kronstadt
RO Bucharest|Bukarest
RO Cluj-Napoca|Klausenburg
RO Sibiu|Hermannstadt
RO Timişoara|Temeswar
RS Belgrade|Belgrad
RU Moscow|Moskau
RU Saint Petersburg|Sankt Petersburg
SA Mecca|Mekka
SA Riyadh|Riad
SE Göteborg|Göteborg|Gothenburg
SG Singapore|Singapur
SI Ljubljana|Laibach
SK Bratislava|Pressburg
SK Košice|Kaschau
SY Damascus|Damaskus
TR Istanbul|Istanbul|Constantinople
TR İzmir|Izmir|Smyrna
UA Kharkiv|Charkiw
UA Kyiv|Kiew|Kiev
UA Lviv|Lemberg
UA Odessa|Odessa|Odesa
US New York City|New York|New York
UZ Tashkent|Taschkent
XK Pristina|Prishtina|Prishtina`;
