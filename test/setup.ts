/** What `src/main.ts` loads before anything else: decorators read it. */
import 'reflect-metadata';
