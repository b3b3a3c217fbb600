import { describe, expect, it } from '@jest/globals';
import { Command } from 'ioredis';
import type { RedisClient } from './connect.js';
import { plainText, ScriptCommand, sendScript, type WrittenCall } from './script-command.js';

/** Members that ioredis uses only on its own commands, or for blocking ones. */
const NEVER_ASKED_FOR = [
  'stringifyArguments',
  'transformReply',
  'setBlockingTimeout',
  'extractBlockingTimeout',
  '_clearTimers',
  'initPromise',
  '_iterateKeys',
  '_convertValue',
];

interface Told {
  readonly call: WrittenCall;
  readonly ends: unknown[];
}

function aCall(): Told {
  const ends: unknown[] = [];
  const call: WrittenCall = {
    script: { source: 'return ARGV[1]', sha: 'a'.repeat(40) },
    keyCount: 1,
    argumentCount: 1,
    text: plainText('key') + plainText('7'),
    slot: 42,
    onResult: (response) => ends.push(response),
    onError: (error) => ends.push(error.message),
  };
  return { call, ends };
}

/** A client that records what it is given to send. */
function aClient(): { client: RedisClient; sent: ScriptCommand[] } {
  const sent: ScriptCommand[] = [];
  return { client: { sendCommand: (command: ScriptCommand) => sent.push(command) } as unknown as RedisClient, sent };
}

describe('a script call that ioredis sends', () => {
  it('has every member that ioredis uses', () => {
    const theirs = Object.getOwnPropertyNames(Command.prototype).filter((name) => !NEVER_ASKED_FOR.includes(name));
    const ours = Object.getOwnPropertyNames(ScriptCommand.prototype);
    expect(theirs.filter((name) => !ours.includes(name))).toEqual([]);
  });

  it('is sent by the hash of its script', () => {
    const { client, sent } = aClient();
    sendScript(client, aCall().call);
    expect(sent[0]?.toWritable()).toBe(
      `*5\r\n$7\r\nevalsha\r\n$40\r\n${'a'.repeat(40)}\r\n$1\r\n1\r\n$3\r\nkey\r\n$1\r\n7\r\n`,
    );
    expect(sent[0]?.getSlot()).toBe(42);
  });

  it('is sent once more with its source if the server does not know the script', () => {
    const { client, sent } = aClient();
    const { call, ends } = aCall();
    sendScript(client, call);
    sent[0]?.reject(new Error('NOSCRIPT No matching script'));
    expect([sent.length, ends]).toEqual([2, []]);
    expect(sent[1]?.toWritable()).toContain('*5\r\n$4\r\neval\r\n$14\r\nreturn ARGV[1]\r\n');
    sent[1]?.reject(new Error('NOSCRIPT No matching script'));
    expect([sent.length, ends]).toEqual([2, ['NOSCRIPT No matching script']]);
  });

  it('reports its result once, and releases the call', () => {
    const { client, sent } = aClient();
    const { call, ends } = aCall();
    sendScript(client, call);
    expect(sent[0]?.isSettled).toBe(false);
    sent[0]?.resolve('answer');
    sent[0]?.resolve('again');
    sent[0]?.reject(new Error('too late'));
    expect(ends).toEqual(['answer']);
    expect([sent[0]?.isSettled, sent[0]?.call]).toEqual([true, undefined]);
    expect(() => sent[0]?.toWritable()).toThrow('not sent again');
  });

  it('has no own functions, which V8 would allocate among the old objects', () => {
    const command = new ScriptCommand(aCall().call, false, aClient().client);
    expect(Object.values(command).filter((value) => typeof value === 'function')).toEqual([]);
  });
});
