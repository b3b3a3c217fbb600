/** Loads `reflect-metadata` before each test file, because decorators need it. */
import 'reflect-metadata';
