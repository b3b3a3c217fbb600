/**
 * NestJS application whose error responses are recorded in ../backend-errors/nestjs.json. It calls decorators as
 * functions, so it needs no compiler.
 *
 *   npm install @nestjs/common @nestjs/core @nestjs/platform-fastify class-validator class-transformer reflect-metadata rxjs
 *   node nestjs-application.mjs PORT
 */
import 'reflect-metadata';
import {
  Body,
  Controller,
  Get,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import { IsEmail, IsInt, IsNotEmpty, IsString, MaxLength, Min, ValidateNested } from 'class-validator';

const method = (target, name, types, ...decorators) => {
  Reflect.defineMetadata('design:paramtypes', types, target.prototype, name);
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name);
  for (const decorate of decorators) decorate(target.prototype, name, descriptor);
};
const property = (target, name, ...decorators) => {
  for (const decorate of decorators.toReversed()) decorate(target.prototype, name);
};

class Address {}
property(Address, 'city', IsNotEmpty());

class Customer {}
property(Customer, 'name', MaxLength(100), IsString());
property(Customer, 'email', IsEmail());
property(Customer, 'groupSize', IsInt(), Min(1));
property(
  Customer,
  'addresses',
  ValidateNested({ each: true }),
  Type(() => Address),
);

class Customers {
  create(customer) {
    return customer;
  }
  strict(customer) {
    return customer;
  }
  get() {
    throw new NotFoundException('No such customer');
  }
  fault() {
    throw new Error('the password of the database is hunter2');
  }
}
const strictly = new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, errorHttpStatusCode: 422 });
const body =
  (...pipes) =>
  (target, name) =>
    Body(...pipes)(target, name, 0);
method(Customers, 'create', [Customer], Post('customers'), body(new ValidationPipe()));
method(Customers, 'strict', [Customer], Post('strict-customers'), body(strictly));
method(Customers, 'get', [Number], Get('customers/:id'), (target, name) => Param('id', ParseIntPipe)(target, name, 0));
method(Customers, 'fault', [], Get('fault'));
Controller()(Customers);

class Application {}
Module({ controllers: [Customers] })(Application);

const application = await NestFactory.create(Application, new FastifyAdapter(), { logger: false });
await application.listen(Number(process.argv[2]), '127.0.0.1');
