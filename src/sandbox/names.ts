const FIRST = (
  'Amara Anton Aylin Beatrice Bram Carla Chidi Clara Daniel Daria Elif Emil Farah Felix Freya Giulia Hana Hugo ' +
  'Ines Ivan Jana Jonas Kaveh Kim Lars Leila Lina Luca Maja Marco Mei Milan Nadia Noah Nora Omar Petra Priya Quinn ' +
  'Rafael Rosa Samir Sofia Tariq Tomas Uma Viktor Wanda Yara Zoe'
).split(' ');
const LAST = (
  'Abe Alvarez Andersen Bauer Bianchi Brunner Cohen Costa Demir Dubois Eriksen Ferrari Fischer Garcia Grant Haddad ' +
  'Hansen Huber Ito Jansen Kaya Keller Khan Kowalski Kumar Larsen Lopez Maier Mensah Meyer Moreau Nakamura Novak ' +
  'Nowak Okafor Olsen Park Peeters Petrov Rossi Sato Schmid Silva Smith Suzuki Tan Torres Weber Wong Zhang'
).split(' ');
const TRADES = 'Analytics Capital Foods Freight Holdings Imports Labs Logistics Media Payments Robotics Textiles'.split(
  ' ',
);
const FORMS = ['AG', 'B.V.', 'GmbH', 'Inc.', 'Ltd', 'S.A.'];

/** The name of a profile, which follows from its id; made-up, as everything here. */
export function profileName(id: number, entity: boolean): string {
  // A step that shares no factor with the lists' lengths walks through all combinations before it repeats.
  const mixed = Math.imul(id, 0x9e3779b1) >>> 0;
  const pick = (from: readonly string[], salt: number) => from[Math.floor(mixed / salt) % from.length] ?? '';
  return entity ? `${pick(LAST, 1)} ${pick(TRADES, 64)} ${pick(FORMS, 1024)}` : `${pick(FIRST, 1)} ${pick(LAST, 4096)}`;
}
