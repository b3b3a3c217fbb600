-- The reference backend keeps its customers apart from the gateway's own tables. Run once, by PostgreSQL's image.
create database customers;
