#!/bin/sh
# Makes .venv with the locked dependencies, sees to Java, prepares Spark; quick when there is nothing to do.
#
# Needs Python 3.10 or later and a network. System packages are installed only on Debian and Ubuntu, and
# only as root or with a sudo that asks no password; otherwise the command to type is shown. Missing
# Python parts end the set-up; missing Java does not, since only Spark needs it.
set -eu
cd "$(dirname "$0")/.."

JAVA_WANTED=17
STAMP=.venv/windrow-setup
PREPARED=.venv/windrow-prepared

say() { echo "Setting up: $*"; }
warn() { echo "Setting up: $*" >&2; }

fail() {
    warn "$@"
    exit 1
}

# The system's packages

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" -eq 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >/dev/null
}

update_package_list() {
    apt update || warn "the list of system packages could not be updated"
}

candidate() { # the version of package $1 that apt-get would install, or nothing
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9].*\)/\1/p'
}

# Python

is_python_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

find_python() {
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if is_python_new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    fail "Python 3.10 or later is needed, and none was found. Install it and run this again:
    sudo apt-get install python3 python3-venv
or name the one to use:
    make setup PYTHON=/path/to/python3"
}

ensure_venv_module() { # Debian and Ubuntu ship Python without ensurepip, in a package of its own
    if "$1" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if can_install; then
        say "installing $package ..."
        update_package_list
        if apt install -y "$package"; then return; fi
    fi
    fail "$1 cannot make virtual environments. Install the missing part and run this again:
    sudo apt-get install $package"
}

stamp() { # changes when the dependencies, the entry points or the folder do
    { cat requirements.lock; sed '/^\[tool/,$d' pyproject.toml; pwd; } | cksum
}

make_venv() {
    if [ -x .venv/bin/python ] && [ "$(cat $STAMP 2>/dev/null)" = "$(stamp)" ]; then return; fi
    python=$(find_python)
    ensure_venv_module "$python"
    say "making .venv with $("$python" --version) ..."
    "$python" -m venv --clear .venv
    say "installing the packages of requirements.lock ..."
    pip="env PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -m pip --quiet --quiet"
    $pip install -r requirements.lock
    $pip install --no-deps --no-build-isolation -e .
    stamp >$STAMP
    say "Python is ready"
}

# Java

java_version() { # the major version of the Java that Spark would take, or 0
    java=java
    if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; fi
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)
    echo "${version:-0}"
}

java_package() { # newer releases of Debian and Ubuntu have no Java 17, but a later default
    default=$(candidate default-jre-headless | sed -n 's/^[0-9]*:1\.\([0-9]*\).*/\1/p')
    if [ -z "$(candidate openjdk-$JAVA_WANTED-jre-headless)" ] && [ "${default:-0}" -ge $JAVA_WANTED ]; then
        echo default-jre-headless
    else
        echo openjdk-$JAVA_WANTED-jre-headless
    fi
}

ensure_java() {
    if [ "$(java_version)" -ge $JAVA_WANTED ]; then return; fi
    if [ -z "${JAVA_HOME:-}" ] && can_install; then
        say "installing Java (none of version $JAVA_WANTED or later was found) ..."
        update_package_list
        if apt install -y "$(java_package)" && [ "$(java_version)" -ge $JAVA_WANTED ]; then
            say "Java $(java_version) is ready"
            return
        fi
    fi
    explain_missing_java
}

explain_missing_java() {
    if [ -n "${JAVA_HOME:-}" ]; then
        warn "JAVA_HOME is $JAVA_HOME, which holds no Java $JAVA_WANTED or later: change it or unset it."
    elif command -v apt-get >/dev/null; then
        warn "Spark needs Java $JAVA_WANTED or later; all else works without. Install it and run this again:
    sudo apt-get update && sudo apt-get install $(java_package)"
    else
        warn "Spark needs Java $JAVA_WANTED or later; all else works without. Install it, so that
    java -version
shows it, and run this again."
    fi
}

# The first start of Spark

prepare_spark() { # once for this folder, its dependencies and this Java: loops are compiled, class data is kept
    prepared="$(stamp) $(java_version)"
    if [ "$(java_version)" -lt $JAVA_WANTED ] || [ "$(cat $PREPARED 2>/dev/null)" = "$prepared" ]; then return; fi
    say "preparing Spark, so that later starts are short ..."
    if .venv/bin/python scripts/prepare.py; then
        echo "$prepared" >$PREPARED
        say "Spark is ready"
    else
        warn "Spark could not be prepared; it will start more slowly"
    fi
}

make_venv
ensure_java
prepare_spark
