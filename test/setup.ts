/** Import of `src/main.ts` that comes first, because decorators need it. */
import 'reflect-metadata';
