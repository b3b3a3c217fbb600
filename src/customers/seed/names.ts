/** Contains names and phone formats for generated customers, by language. All people are fictional. */

/** Origin is a country with the names and the phone format of its customers. */
export interface Origin {
  /** Relative frequency of the country. */
  readonly weight: number;
  readonly firstNames: readonly string[];
  readonly lastNames: readonly string[];
  /**
   * Format of mobile numbers, in which each `#` is a digit. Uses numbers reserved for fiction if the country has any.
   */
  readonly phone: string;
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const GERMAN_FIRST = words(`Anna Lena Julia Katharina Sophie Marie Laura Johanna Theresa Magdalena Eva Hannah Lisa Sarah
  Christina Verena Barbara Birgit Nina Miriam Lukas Maximilian Felix Jakob Florian Tobias Sebastian Michael Thomas
  Stefan Andreas Martin Simon David Paul Moritz Jonas Johannes Matthias Bernhard Jürgen Günther Jörg Björn Käthe`);
const FRENCH_FIRST = words(`Camille Léa Manon Chloé Élodie Amélie Juliette Margaux Claire Océane Aurélie Noémie Hélène
  Lucas Théo Hugo Antoine Julien Maxime Clément Mathieu Romain Benoît François Jérôme Étienne Loïc`);
const ITALIAN_FIRST =
  words(`Giulia Chiara Francesca Martina Sara Elisa Alessia Valentina Beatrice Federica Ilaria Silvia
  Marco Luca Matteo Alessandro Andrea Lorenzo Davide Simone Federico Riccardo Stefano Giovanni Nicolò`);

export const ORIGINS: Readonly<Record<string, Origin>> = {
  'de-AT': {
    weight: 30,
    firstNames: GERMAN_FIRST,
    lastNames:
      words(`Gruber Huber Bauer Wagner Müller Pichler Steiner Moser Mayer Hofer Leitner Berger Fuchs Eder Fischer
      Schmid Winkler Weber Schwarz Maier Schneider Reiter Mayr Schmidt Wimmer Egger Brunner Lang Baumgartner Auer Binder
      Lechner Wolf Wallner Aigner Ebner Koller Lehner Haas Schuster Heilig Tschurtschenthaler Kofler Plattner Rainer`),
    phone: '+43664#######',
  },
  'de-DE': {
    weight: 28,
    firstNames: GERMAN_FIRST,
    lastNames:
      words(`Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter
      Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Krause Meier
      Lehmann Köhler Herrmann König Walter Kaiser Fuchs Peters Scholz Möller Weiß Jung Hahn Vogel Friedrich Günther`),
    phone: '+49176040690##',
  },
  'de-CH': {
    weight: 5,
    firstNames: [...GERMAN_FIRST, 'Urs', 'Reto', 'Beat', 'Ursina', 'Seraina', 'Flurina', 'Gian'],
    lastNames: words(`Meier Müller Keller Baumann Brunner Frei Zürcher Gerber Graf Moser Huber Steiner Suter Widmer Wyss
      Bühler Kunz Hofer Caduff Camenzind Caflisch Bernasconi Favre Roth Ammann Zbinden`),
    phone: '+4179#######',
  },
  'it-IT': {
    weight: 10,
    firstNames: ITALIAN_FIRST,
    lastNames:
      words(`Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Costa Giordano
      Mancini Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Bonetti
      D'Angelo Dell'Orto`),
    phone: '+39347#######',
  },
  'en-GB': {
    weight: 8,
    firstNames:
      words(`Olivia Emma Charlotte Emily Sophie Lucy Grace Hannah Rebecca Megan Alice Eleanor Imogen Priya Aisha
      Jack Harry Oliver James Thomas George William Daniel Matthew Callum Rhys Liam Owen Arjun Omar Siobhán`),
    lastNames:
      words(`Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson Evans Walker White
      Roberts Green Hall Wood Jackson Clarke Patel Khan Lewis Harris Hughes Edwards O'Brien O'Connor MacDonald Campbell
      Stewart Hopkins-Reid`),
    phone: '+447700900###',
  },
  'nl-NL': {
    weight: 7,
    firstNames:
      words(`Emma Sanne Lotte Fleur Anouk Femke Iris Lieke Maud Roos Eline Daan Bram Sem Lars Thijs Jeroen Sander
      Ruben Niels Wouter Pieter Joost Koen Maarten`),
    lastNames: [
      ...words(
        'Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks Dekker Brouwer Dijkstra Kok Jacobs Postma',
      ),
      'de Jong',
      'de Vries',
      'van Dijk',
      'van den Berg',
      'van der Meer',
      'de Boer',
      'van Leeuwen',
    ],
    phone: '+316########',
  },
  'fr-FR': {
    weight: 6,
    firstNames: FRENCH_FIRST,
    lastNames: words(`Martin Bernard Dubois Thomas Robert Petit Durand Leroy Moreau Laurent Lefèvre Michel Garcia Roux
      Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Mercier Gauthier Chevalier Béranger Lemaître Perret`),
    phone: '+33639980###',
  },
  'cs-CZ': {
    weight: 3,
    firstNames: words(`Jana Petra Lucie Kateřina Tereza Veronika Barbora Eliška Jan Petr Tomáš Jiří Ondřej Jakub Lukáš
      Vojtěch Zdeněk`),
    lastNames:
      words(`Novák Svoboda Dvořák Černý Procházka Kučera Veselý Horák Němec Pokorný Marek Pospíšil Hájek Jelínek
      Král Růžička Beneš Fiala Šimek`),
    phone: '+420603######',
  },
  'sl-SI': {
    weight: 2,
    firstNames: words('Maja Nina Špela Tjaša Katja Urška Ana Luka Matej Žiga Rok Anže Blaž Gašper Jure Miha'),
    lastNames:
      words(`Novak Horvat Kovačič Krajnc Zupančič Potočnik Mlakar Kos Vidmar Golob Turk Božič Žagar Bizjak Hribar
      Oblak`),
    phone: '+38640######',
  },
  'en-US': {
    weight: 1,
    firstNames: words(
      'Ashley Jessica Madison Taylor Emily Michael Tyler Brandon Ryan Joshua Kevin Carlos Mei Hiroshi Ngozi',
    ),
    lastNames: words(
      'Johnson Miller Davis Garcia Rodriguez Anderson Nguyen Chen Kim Okafor Tanaka Cohen Sullivan Murphy',
    ),
    phone: '+120255501##',
  },
};

/** Notes that staff could have written about customers. */
export const NOTES: readonly string[] = [
  'Vegetarian lunch on full-day tours.',
  'Vegan. Brings own snacks.',
  'Gluten-free, please tell the hut.',
  'Not a strong swimmer: middle of the raft, long briefing.',
  'Wears glasses, needs a strap.',
  'Shoe size 47, bring the large neoprene boots.',
  'Wetsuit size XS.',
  'Afraid of heights, was fine with a short rope last time.',
  'Leads 6b outdoors, own harness and rope.',
  'Old knee injury, no long descents on foot.',
  'Asthma, carries an inhaler in a dry bag.',
  'Allergic to wasp stings, has an EpiPen.',
  'Comes with a group of eight from the sports club every June.',
  'Stag party organiser, paid the deposit for everyone.',
  'Booked through the campsite in Haiming.',
  'Prefers morning slots, the children get tired in the afternoon.',
  'Would like photos from the GoPro package.',
  'Interested in the Imster Schlucht at high water.',
  'Asked about the multi-pitch course in September.',
  'Gift voucher from Christmas, valid for two years.',
  'School class, invoice to the school.',
  'Cancelled because of the weather, moved to next season.',
  'Speaks some English, prefers written confirmation.',
  'Regular guest since we opened. Free coffee!',
  'Paid cash, invoice sent by post.',
  'Möchte beim nächsten Mal die Ötztaler Ache fahren.',
  'Gruppe mit zwei Hunden, Abholung am Parkplatz.',
  'Vorrebbe una guida che parli italiano.',
  'Souhaite une sortie en famille, enfants de 8 et 11 ans.',
];
