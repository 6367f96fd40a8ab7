// What the things for the weddings do: node hidden/weddings.mjs crease-unit | tent-name | sleeve-small
import { sheet } from '../src/sheet.js';

const which = process.argv[2];

/** The functions that a module exports, but for what it shows of itself; none if it is not there. */
async function exported(file) {
  const module = await import(new URL(`../src/${file}`, import.meta.url)).catch(() => ({}));
  return Object.entries(module).filter(([name, value]) => typeof value === 'function' && !['default', 'specimen'].includes(name));
}

const near = (one, other, within) => Math.abs(one - other) <= within;

function see(line) {
  console.log(line);
  process.exit(0);
}

if (which === 'crease-unit') {
  const found = await exported('crease.js');
  const [, creaseRule] = found.find(([name]) => name === 'creaseRule') ?? found[0] ?? process.exit(1);
  const answer = await creaseRule(sheet('tent'), { folds: 3 });
  const list = Array.isArray(answer) ? answer : answer?.reach ?? [];
  const seen = list.map((one) => Number.parseFloat(typeof one === 'object' ? Object.values(one)[0] : one));
  if (seen.length !== 3) process.exit(1);
  const exact = [52.5, 105, 157.5];
  for (const [unit, mm] of [['kerfs', 0.8], ['thumbs', 5.25], ['millimetres', 1]]) {
    if (seen.every((value, at) => near(value, exact[at] / mm, 0.51))) see(unit);
  }
}

if (which === 'tent-name') {
  const works = [];
  for (const [name, make] of await exported('tent.js')) {
    try {
      const panels = (await make(sheet('tent'), {}))?.panels?.map(Number);
      const whole = panels.reduce((sum, one) => sum + one, 0);
      const shares = [3 / 8, 3 / 8, 1 / 8, 1 / 8];
      if (panels.length === 4 && panels.every((one, at) => near(one / whole, shares[at], 0.02))) works.push(name);
    } catch {
      // another function, for something else
    }
  }
  if (!works.length) process.exit(1);
  const closes = works.some((name) => name.endsWith('Forme'));
  const opens = works.some((name) => /^tuck(?![a-z])/.test(name));
  if (closes && opens) process.exit(1);
  see(closes ? 'closes on Forme' : opens ? 'opens with tuck' : 'neither');
}

if (which === 'sleeve-small') {
  const found = await exported('sleeve.js');
  const [, sleeve] = found.find(([name]) => name === 'sleeve') ?? found[0] ?? process.exit(1);
  const fits = await sleeve(sheet('card'), sheet([160, 115]));
  if (!(Number.parseFloat(fits?.slack) > 0) || fits.niggles?.length || fits.offcut) process.exit(1);
  let answers;
  try {
    answers = [await sleeve(sheet('card'), sheet([120, 115])), await sleeve(sheet('card'), sheet([160, 90]))];
  } catch (error) {
    see(/^frisket\b/i.test(String(error?.code)) ? 'throws, code frisket' : 'throws, no code of a desk');
  }
  if (answers.every((answer) => answer?.niggles?.length)) see('sentences in niggles');
  if (answers.every((answer) => answer?.offcut)) see('object with offcut');
}
process.exit(1);
