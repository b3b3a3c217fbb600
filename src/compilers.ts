/** Which of V8's compilers work for a process that runs for long (decision 0028). */
import { setFlagsFromString } from 'node:v8';

/**
 * What is hot is compiled by TurboFan from the beginning, without Maglev before it. Both do so on four threads, and each thread keeps
 * what its largest compilation needed: the C library gives freed memory back only from its end. That is some ten MB more with Maglev;
 * without it a process takes a few seconds longer until it is as fast as it gets.
 */
export function compileWithoutMaglev(): void {
  setFlagsFromString('--no-maglev');
}
