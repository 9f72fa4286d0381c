package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// step is one numbered .sql file.
type step struct {
	name string
	sql  string
}

// steps reads the migrations in order. They must be numbered from 1 without a gap.
func steps(migrations fs.FS) ([]step, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	var all []step
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("%04d_", i+1)) {
			return nil, fmt.Errorf("store: migration %s should begin with %04d_", name, i+1)
		}
		body, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		all = append(all, step{name: name, sql: string(body)})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("store: no migrations")
	}
	return all, nil
}

// migrate applies what is newer than version from, inside the caller's transaction.
func migrate(tx *Tx, migrations fs.FS, from int) error {
	all, err := steps(migrations)
	if err != nil {
		return err
	}
	for _, s := range all[min(from, len(all)):] {
		if _, err := tx.Exec(s.sql); err != nil {
			return fmt.Errorf("store: migration %s: %w", s.name, err)
		}
	}
	if err := checkStrict(tx); err != nil {
		return err
	}
	_, err = tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", len(all)))
	return err
}

// checkStrict refuses tables that are not STRICT: those would turn exact decimal text into floats.
//
//limit:store-strict Every table must be STRICT.
func checkStrict(tx *Tx) error {
	var name string
	err := tx.QueryRow(`SELECT coalesce(min(name), '') FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&name)
	if err != nil {
		return err
	}
	if name != "" {
		return fmt.Errorf("store: the table %s is not STRICT", name)
	}
	return nil
}

// bringUpToDate refuses a newer schema and migrates an older one, unless it is only looked at.
//
//limit:store-newer A database with a newer schema than this program knows is refused.
func (db *DB) bringUpToDate(ctx context.Context, cfg Config) error {
	all, err := steps(cfg.Migrations)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx) // the first one, which reads the version with the settings and then goes to the pool
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	version := int(db.side.version.Load())
	switch {
	case version > len(all):
		return fmt.Errorf("store: %s has schema version %d and this program knows up to %d; use the newer program",
			cfg.Path, version, len(all))
	case version == len(all), cfg.Look:
		return nil
	}
	return Immediate(ctx, db, func(tx *Tx) error {
		// Again, since another process may have been faster.
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version >= len(all) {
			return err
		}
		return migrate(tx, cfg.Migrations, version)
	})
}

// CheckSchema compares every table, index and trigger with what the migrations make, and returns the first difference,
// or nothing.
func (db *DB) CheckSchema(ctx context.Context, migrations fs.FS) (difference string, err error) {
	all, err := steps(migrations)
	if err != nil {
		return "", err
	}
	c, err := sqlite.NewConnector(":memory:")
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	model := sql.OpenDB(c)
	defer model.Close()
	model.SetMaxOpenConns(1) // each connection would have a memory of its own
	for _, s := range all {
		if _, err := model.ExecContext(ctx, s.sql); err != nil {
			return "", fmt.Errorf("store: migration %s: %w", s.name, err)
		}
	}
	want, err := readSchema(ctx, model)
	if err != nil {
		return "", err
	}
	have, err := readSchema(ctx, db.DB)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			return fmt.Sprintf("the %s is missing or was changed", name), nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok {
			return fmt.Sprintf("the %s was added", name), nil
		}
	}
	return "", nil
}

func readSchema(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		all[name] = text
	}
	return all, rows.Err()
}
