#!/bin/sh
# Makes the Rails API application whose errors are in ../backend-errors/rails.json, and serves it as in production.
# Needs Rails with SQLite, Puma and Bundler (Debian: ruby-rails, ruby-sqlite3, puma, ruby-bundler); nothing is downloaded.
#
#   sh rails.sh FOLDER PORT       FOLDER must not exist
set -eu
folder=$1 port=$2
rails new "$folder" --api --minimal --skip-bundle --skip-git --skip-test --database=sqlite3
cd "$folder"
printf "gem 'rails'\ngem 'sqlite3'\ngem 'puma'\n" > Gemfile
printf 'production: { adapter: sqlite3, database: storage/errors.sqlite3 }\n' > config/database.yml
mkdir -p storage
export RAILS_ENV=production SECRET_KEY_BASE=only-for-this-recording
rails generate scaffold customer name email starts_on:date ends_on:date --no-test-framework
rails generate model address customer:references city --no-test-framework
cat > app/models/customer.rb <<'RUBY'
class Customer < ApplicationRecord
  has_many :addresses, index_errors: true
  accepts_nested_attributes_for :addresses
  validates :name, presence: true
  validates :email, format: { with: /@/ }, length: { minimum: 5 }
  validate { errors.add(:base, 'The end is before the beginning') if starts_on && ends_on && ends_on < starts_on }
end
RUBY
cat > app/models/address.rb <<'RUBY'
class Address < ApplicationRecord
  belongs_to :customer
  validates :city, presence: true
end
RUBY
# The scaffold's own controller, with the nested records permitted as well.
sed -i 's/:ends_on\( *\]*\)\(,*\) *)/:ends_on, addresses_attributes: [:city]\1)/' app/controllers/customers_controller.rb
grep -q addresses_attributes app/controllers/customers_controller.rb
# Two more ways in which applications commonly render the same errors, and a fault.
cat > app/controllers/forms_controller.rb <<'RUBY'
class FormsController < ApplicationController
  def members = render(json: { errors: invalid.errors }, status: 422)
  def sentences = render(json: { errors: invalid.errors.full_messages }, status: 422)
  def fault = raise('the password of the database is hunter2')

  private

  def invalid = Customer.new(name: '', email: 'x').tap(&:validate)
end
RUBY
cat > config/routes.rb <<'RUBY'
Rails.application.routes.draw do
  resources :customers
  post 'members' => 'forms#members'
  post 'sentences' => 'forms#sentences'
  get 'fault' => 'forms#fault'
end
RUBY
sed -i 's/config.force_ssl = true/config.force_ssl = false/' config/environments/production.rb
rails db:migrate
exec rails server --binding 127.0.0.1 --port "$port"
