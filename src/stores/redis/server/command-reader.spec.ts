/** Parsing of commands in arbitrary pieces, and rejection of invalid input. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ANY_CHARACTER } from '../../../../test/support/texts.js';
import { bulkText } from '../script-command.js';
import { CommandReader, CommandSyntaxError } from './command-reader.js';

function written(command: readonly string[]): Buffer {
  return Buffer.from(`*${command.length}\r\n${command.map(bulkText).join('')}`);
}

function readIn(chunks: readonly Buffer[]): (readonly string[])[] {
  const commands: (readonly string[])[] = [];
  const reader = new CommandReader((command) => commands.push(command));
  for (const chunk of chunks) reader.read(chunk);
  return commands;
}

describe('commands', () => {
  it('are the same however their bytes are split', () => {
    const command = fc.array(fc.string({ unit: ANY_CHARACTER, maxLength: 40 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 6 }), fc.array(fc.nat(400), { maxLength: 8 }), (commands, cuts) => {
        const bytes = Buffer.concat(commands.map(written));
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((to, index) => bytes.subarray(places[index], to));
        expect(readIn(chunks)).toEqual(commands);
      }),
    );
  });

  it.each([
    ['PING\r\n', 'no array'],
    ['*0\r\n', 'parts'],
    ['*70000\r\n', 'parts'],
    ['*1\r\n:4\r\n', 'no array'],
    ['*1\r\n$-1\r\n', 'no number'],
    ['*1\r\n$9999999999\r\n', 'no number'],
    ['*1\r\n$4\r\nPINGPONG', 'longer'],
  ])('are rejected for %j', (text, words) => {
    expect(() => readIn([Buffer.from(text)])).toThrow(CommandSyntaxError);
    expect(() => readIn([Buffer.from(text)])).toThrow(words);
  });

  it('have a maximum length', () => {
    const reader = new CommandReader(() => {});
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    reader.read(Buffer.from('*9\r\n$8000000\r\n'));
    expect(() => {
      for (let count = 0; count < 16; count++) {
        reader.read(chunk);
        if (count === 7) reader.read(Buffer.from('\r\n$8000000\r\n'));
      }
    }).toThrow(CommandSyntaxError);
  });
});
