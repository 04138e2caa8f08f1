# Makes ready what a test command needs inside of the sandbox, and then becomes that command: `root up program…`.
#
# `root` is the directory, from here, in which Python finds the project's own packages, or nothing; `up` leads from
# here to the root of the tree. No name that is not greenlight's own is ever read as a word of the shell.
# Everything here can be changed or lied to by the tree under test, which gains nothing by it: the tests run as the
# same user in the same sandbox right after.
#
# What is in single quotes is for another shell.
# shellcheck shell=sh disable=SC2016
root=$1
up=$2
shift 2

# Gives the workspace a directory with links to the packages of another one: packages that were installed elsewhere
# are read-only there, but tools write beside them (`.cache`, `.vite`). Links between the packages of one repository
# stay as they are, and lead to the code under test.
links() {
	mkdir -p "$2" || return
	find "$1" -mindepth 1 -maxdepth 1 -type l -exec sh -c 'cp -P "$@" "$0/"' "$2" {} +
	find "$1" -mindepth 1 -maxdepth 1 ! -type l \
		! -name '@*' ! -name .bin ! -name '.cache' ! -name '.vite*' \
		-exec sh -c 'ln -s "$@" "$0/"' "$2" {} +
	for below in "$1"/@* "$1"/.bin; do
		# One that is a link was copied as such; following it could go on forever.
		[ -L "$below" ] || [ ! -d "$below" ] || links "$below" "$2/${below##*/}"
	done
}

if [ -n "$GREENLIGHT_MODULES" ]; then
	[ -n "$GREENLIGHT_MODULES_IN" ] ||
		GREENLIGHT_MODULES_IN=$(cd "$GREENLIGHT_MODULES" && find . -type d -name node_modules -prune)
	printf '%s\n' "$GREENLIGHT_MODULES_IN" | while IFS= read -r at; do
		[ -e "$up/$at" ] || [ ! -d "$GREENLIGHT_MODULES/$at" ] || links "$GREENLIGHT_MODULES/$at" "$up/$at"
		# What Vitest would have a compiler write into Vitest's own package goes to `/tmp`.
		for tool in tsc vue-tsc; do
			tool="$up/$at/.bin/$tool"
			if [ -n "$GREENLIGHT_CHECKS_TYPES" ] && [ -e "$tool" ] && [ ! -e "$tool.own" ] && mv "$tool" "$tool.own"; then
				printf '%s\n' '#!/bin/sh' \
					'for word do shift; case $word in */tsconfig.tmp.tsbuildinfo) word=/tmp/tsconfig.tmp.tsbuildinfo ;; esac; set -- "$@" "$word"; done' \
					'exec "$0.own" "$@"' > "$tool" && chmod +x "$tool"
			fi
		done
	done
fi 2>/dev/null

# What a build left among the sources, where the tree does not have it.
if [ -n "$GREENLIGHT_GENERATED" ] && [ -d "$GREENLIGHT_GENERATED" ]; then
	cp -Rn "$GREENLIGHT_GENERATED/." . 2>/dev/null
fi
[ -z "$GREENLIGHT_BUILT" ] || cp -Rpn "$GREENLIGHT_BUILT/." "$up" 2>/dev/null
unset GREENLIGHT_MODULES GREENLIGHT_MODULES_IN GREENLIGHT_CHECKS_TYPES GREENLIGHT_GENERATED GREENLIGHT_BUILT

# The nearest programs first; those of a virtual environment before all.
[ ! -d "$up/node_modules/.bin" ] || PATH=$(cd "$up" && pwd)/node_modules/.bin:$PATH
[ ! -d node_modules/.bin ] || PATH=$PWD/node_modules/.bin:$PATH
[ -z "$VIRTUAL_ENV" ] || PATH=$VIRTUAL_ENV/bin:$PATH
[ -z "$root" ] || export PYTHONPATH="$PWD/$root:$PWD${PYTHONPATH:+:$PYTHONPATH}"
# Kept for the next run in this workspace, as cargo does by itself.
export GOCACHE="$PWD/.greenlight-cache/go"
# Both streams in one, in the order in which they were written.
exec "$@" 2>&1
