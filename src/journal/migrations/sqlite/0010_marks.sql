-- How far something was done that goes on for ever, such as looking for missed deliveries.
CREATE TABLE mark (
    name TEXT PRIMARY KEY,
    at   TEXT NOT NULL
);
