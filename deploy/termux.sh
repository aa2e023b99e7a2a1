#!/usr/bin/env bash
# Outrider on the phone itself, in Termux: docs/deploy.md says what each step is for.
#
#   bash deploy/termux.sh install            packages of Termux and of Python; no compiler for numpy
#   bash deploy/termux.sh pair PORT CODE     once: pair with this phone's own wireless debugging
#   bash deploy/termux.sh connect [PORT]     reach it; without a port, the one the phone tells
#   bash deploy/termux.sh protect            keep Android from stopping Termux
#   bash deploy/termux.sh configure ID BROKER [CREDENTIALS]
#   bash deploy/termux.sh run                play until Ctrl-C; starts again where it ends
#   bash deploy/termux.sh boot               start it whenever the phone starts (Termux:Boot)
#   bash deploy/termux.sh status             what is there and what is missing
#
# Not verified on hardware: written after the recipes of Termux and the documentation of Android.
set -euo pipefail

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CONFIGURATION=${XDG_CONFIG_HOME:-$HOME/.config}/outrider/termux.conf
DATA=${OUTRIDER_DATA:-$HOME/outrider}
BOOT=$HOME/.termux/boot/outrider
FIXED_PORT=5555
LONGEST_PAUSE_S=60

# What Termux builds itself, so that pip need not: it has no wheels for Android.
TERMUX_PACKAGES=(python python-numpy python-pillow python-onnxruntime python-cryptography
  android-tools clang rust binutils)
# What is left: Python alone, but for msgspec, which clang builds in a minute, and typer's
# pydantic-core, which takes Rust several.
PYTHON_PACKAGES=(msgspec paho-mqtt rich securesystemslib structlog tuf typer)
# Versions of these are Termux's business.
PROVIDED='^(numpy|pillow|onnxruntime|cryptography|cffi|pycparser|protobuf|flatbuffers)=='

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
misuse() { printf 'error: %s\n' "$*" >&2; exit 2; }

require_termux() {
  command -v pkg >/dev/null || fail "there is no pkg: run this in Termux, on the phone"
}

require_port() {
  [[ $1 =~ ^[0-9]{1,5}$ ]] || misuse "'$1' is no port: it stands on the wireless debugging page"
}

install() {
  require_termux
  pkg install -y "${TERMUX_PACKAGES[@]}"
  local pins
  pins=$(mktemp)
  grep -vE "$PROVIDED" "$REPOSITORY/requirements.lock" >"$pins"
  # Rust's builder asks for it: see PyO3/maturin#3153.
  ANDROID_API_LEVEL=$(getprop ro.build.version.sdk 2>/dev/null || true)
  export ANDROID_API_LEVEL
  pip install --constraint "$pins" "${PYTHON_PACKAGES[@]}"
  rm -f "$pins"
  pip install --no-deps "$REPOSITORY"
  python -c 'import device_runtime.policy, outrider' || fail "the packages do not load; see above"
  say "installed; next: bash deploy/termux.sh pair PORT CODE"
}

# Wireless debugging shows a port and a code; keep Termux beside it in a split screen, since the
# code changes once that page is left.
pair() {
  [[ $# -eq 2 ]] || misuse "say port and code: pair PORT CODE"
  require_port "$1"
  adb pair "127.0.0.1:$1" "$2"
  say "paired; next: bash deploy/termux.sh connect PORT, with the port above the pairing's"
}

# The ports are random and change; one that the phone opened with tcpip stays until it restarts.
ports_to_try() {
  if [[ -n $1 ]]; then
    say "$1"
    return
  fi
  say "$FIXED_PORT"
  getprop service.adb.tls.port 2>/dev/null || true
}

connected_serial() {
  adb devices | awk '$2 == "device" && $1 ~ /^(127\.0\.0\.1|localhost):/ { print $1; exit }'
}

connect() {
  [[ $# -le 1 ]] || misuse "connect takes one port at most"
  local wanted=${1:-}
  [[ -z $wanted ]] || require_port "$wanted"
  adb start-server >/dev/null 2>&1 || fail "the adb server does not start: run adb start-server"
  local port serial
  for port in $(ports_to_try "$wanted"); do
    serial=$(connected_serial)
    [[ -n $serial ]] && break
    adb connect "127.0.0.1:$port" >/dev/null 2>&1 || true
    sleep 1
  done
  serial=$(connected_serial)
  [[ -n $serial ]] || fail "not connected: switch wireless debugging on, then connect PORT"
  if [[ $serial != *":$FIXED_PORT" ]]; then
    adb -s "$serial" tcpip "$FIXED_PORT" >/dev/null 2>&1 || true
  fi
  say "connected: $serial"
}

# Android ends what works in the background: idle apps, and programs that apps have started.
protect() {
  local serial
  serial=$(connected_serial)
  [[ -n $serial ]] || fail "not connected: bash deploy/termux.sh connect"
  local package
  for package in com.termux com.termux.boot; do
    adb -s "$serial" shell dumpsys deviceidle whitelist "+$package" || true
    adb -s "$serial" shell cmd appops set "$package" RUN_ANY_IN_BACKGROUND allow || true
  done
  # Android 12L and newer, and Android 12; each refuses what it does not know.
  adb -s "$serial" shell settings put global settings_enable_monitor_phantom_procs false || true
  adb -s "$serial" shell device_config set_sync_disabled_for_tests persistent || true
  adb -s "$serial" shell device_config put activity_manager max_phantom_processes 2147483647 || true
  say "protected; what was changed is in docs/deploy.md, with how to take it back"
}

configure() {
  [[ $# -ge 2 && $# -le 3 ]] || misuse "say: configure ID BROKER [CREDENTIALS]"
  [[ -z ${3:-} || -f $3 ]] || misuse "$3 is no file: it holds this device's password"
  mkdir -p "$(dirname "$CONFIGURATION")"
  printf '%s\n' "$1" "$2" "${3:-}" >"$CONFIGURATION"
  say "written: $CONFIGURATION"
}

run() {
  [[ -f $CONFIGURATION ]] || fail "who is this device? bash deploy/termux.sh configure ID BROKER"
  local lines options pause_s=1
  mapfile -t lines <"$CONFIGURATION"
  options=(--data "$DATA" --id "${lines[0]}" --broker "${lines[1]}")
  [[ -z ${lines[2]:-} ]] || options+=(--credentials "${lines[2]}")
  termux-wake-lock 2>/dev/null || say "no wake lock: pkg install termux-api, and its app"
  trap 'exit 130' INT TERM
  while true; do
    local begun_s=$SECONDS serial
    if (connect "") >/dev/null; then
      serial=$(connected_serial)
      OMP_NUM_THREADS=1 outrider phone run --serial "$serial" "${options[@]}" && return
    fi
    ((SECONDS - begun_s < 120)) || pause_s=1
    say "again in $pause_s s"
    sleep "$pause_s"
    pause_s=$((pause_s * 2 < LONGEST_PAUSE_S ? pause_s * 2 : LONGEST_PAUSE_S))
  done
}

boot() {
  mkdir -p "$(dirname "$BOOT")" "$DATA"
  {
    say '#!/data/data/com.termux/files/usr/bin/sh'
    say 'termux-wake-lock'
    printf 'exec bash %q run >>%q 2>&1\n' "$REPOSITORY/deploy/termux.sh" "$DATA/boot.log"
  } >"$BOOT"
  chmod 700 "$BOOT"
  say "written: $BOOT; install Termux:Boot from where Termux came from, and open it once"
}

status() {
  local name serial
  for name in python adb outrider termux-wake-lock; do
    if command -v "$name" >/dev/null; then say "$name: there"; else say "$name: missing"; fi
  done
  serial=$(connected_serial 2>/dev/null || true)
  say "phone: ${serial:-not connected}"
  say "configured: $([[ -f $CONFIGURATION ]] && echo yes || echo no)"
  say "starts with the phone: $([[ -x $BOOT ]] && echo yes || echo no)"
}

case ${1:-} in
  install | pair | connect | protect | configure | run | boot | status) "$@" ;;
  *) misuse "say what to do: install, pair, connect, protect, configure, run, boot or status" ;;
esac
