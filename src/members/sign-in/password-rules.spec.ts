/** New passwords: any long password passes, unless it is easy to guess. */
import { describe, expect, it } from '@jest/globals';
import { passwordFault } from './password-rules.js';

const ANA = {
  email: 'ana.lopez@rafting-tours.example',
  name: 'Ana López',
  host: 'admin.rafting-tours.example',
  hasSecondFactor: false,
};

describe('a new password', () => {
  it.each([
    'river otters like cold water',
    'correct horse battery staple',
    'ñandúes por la pampa ☂ 7',
    'Xk4!mP9#vL2@qR7',
    '水曜日の川下りはとても楽しかったです。',
    'ana.lopez rows past nine grey herons',
    `${'every word of it '.repeat(11)}!`,
  ])('may be %j', (password) => {
    expect(passwordFault(password, ANA)).toBeNull();
  });

  it.each([
    ['fourteen letters', 'fourteenletter', /at least 15/],
    ['fifteen code units of fewer characters', '😀😀😀😀😀😀😀a', /at least 15/],
    ['201 characters', 'a1b2c3d4e5'.repeat(20) + 'x', /at most 200/],
    ['one character', 'aaaaaaaaaaaaaaaaaaaa', /repeat/],
    ['two characters in turn', 'abababababababababab', /repeat/],
    ['a row of the keyboard', 'qwertyuiopasdfghjkl', /easy to guess/],
    ['a row backwards, twice', 'poiuytrewqpoiuytrewq', /easy to guess/],
    ['numbers in their order', '123456789012345678', /easy to guess/],
    ['the own address', 'ana.lopez@rafting-tours.example', /easy to guess/],
    ['the own name and a year', 'AnaLópezLópez2026', /easy to guess/],
    ['the host', 'Admin.Rafting-Tours.example1', /easy to guess/],
    ['the product', 'trailgate-trailgate-1', /easy to guess/],
    ['what everybody takes', 'Password12345678!', /easy to guess/],
  ])('may not be %s', (_what, password, fault) => {
    expect(passwordFault(password, ANA)).toMatch(fault);
  });

  it('may have eight characters with a second factor, but must not be easy to guess', () => {
    const withSecond = { ...ANA, hasSecondFactor: true };
    expect(passwordFault('kX7!pq2z', withSecond)).toBeNull();
    expect(passwordFault('kX7!pq2', withSecond)).toMatch(/at least 8/);
    expect(passwordFault('12345678', withSecond)).toMatch(/easy to guess/);
    expect(passwordFault('anaLopez', withSecond)).toMatch(/easy to guess/);
  });
});
