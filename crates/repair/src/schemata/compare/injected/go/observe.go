// The functions that observed code calls to log its arguments and results.
package observed

import (
	greenlightFmt "fmt"
	greenlightOs "os"
	greenlightReflect "reflect"
	greenlightSort "sort"
	greenlightNumber "strconv"
	greenlightStrings "strings"
	greenlightSync "sync"
)

const (
	// Maximum number of logged calls of one function, and of visited parts of one value.
	greenlightMostCalls = 2000
	greenlightMostParts = 20000
	// Maximum number of bytes read from the logs of earlier runs.
	greenlightMostRead = 1 << 23
)

var (
	greenlightLock  greenlightSync.Mutex
	greenlightCount = map[int]int{}
	greenlightSeen2 = map[int]map[uint64]bool{}
)

func greenlightChoice() int {
	chosen, _ := greenlightNumber.Atoi(greenlightOs.Getenv("GREENLIGHT_SWITCH"))
	return chosen
}

func greenlightSay(text string) {
	path := greenlightOs.Getenv("GREENLIGHT_OBSERVE")
	if path == "" {
		return
	}
	file, err := greenlightOs.OpenFile(path, greenlightOs.O_APPEND|greenlightOs.O_CREATE|greenlightOs.O_WRONLY, 0o644)
	if err == nil {
		file.WriteString(text)
		file.Close()
	}
}

func greenlightSaid() string {
	file, err := greenlightOs.Open(greenlightOs.Getenv("GREENLIGHT_OBSERVE"))
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, greenlightMostRead)
	length := 0
	for length < len(text) {
		read, err := file.Read(text[length:])
		length += read
		if err != nil || read == 0 {
			break
		}
	}
	return string(text[:length])
}

// A digest of a value that ignores its address. No code under test is called to compute it.
type greenlightDigest struct {
	hash   uint64
	left   int
	opaque bool
	way    map[greenlightWay]bool
}

type greenlightWay struct {
	at   uintptr
	kind greenlightReflect.Type
}

func greenlightNew() *greenlightDigest {
	return &greenlightDigest{hash: 0xcbf29ce484222325, left: greenlightMostParts, way: map[greenlightWay]bool{}}
}

func (digest *greenlightDigest) add(text string) {
	for at := 0; at < len(text); at++ {
		digest.hash = (digest.hash ^ uint64(text[at])) * 0x100000001b3
	}
	digest.hash = (digest.hash ^ 0xff) * 0x100000001b3
	digest.left -= 1 + len(text)/64
}

func (digest *greenlightDigest) text() string {
	state := "s"
	if digest.opaque {
		state = "o"
	}
	return greenlightFmt.Sprintf("%016x %s", digest.hash, state)
}

func (digest *greenlightDigest) all(values []interface{}) *greenlightDigest {
	for _, value := range values {
		digest.show(greenlightReflect.ValueOf(value))
	}
	return digest
}

func (digest *greenlightDigest) show(value greenlightReflect.Value) {
	if digest.left <= 0 {
		digest.opaque = true
		return
	}
	if !value.IsValid() {
		digest.add("nil")
		return
	}
	kind := value.Kind()
	digest.add(kind.String())
	switch kind {
	case greenlightReflect.Bool:
		digest.add(greenlightNumber.FormatBool(value.Bool()))
	case greenlightReflect.Int, greenlightReflect.Int8, greenlightReflect.Int16, greenlightReflect.Int32, greenlightReflect.Int64:
		digest.add(greenlightNumber.FormatInt(value.Int(), 16))
	case greenlightReflect.Uint, greenlightReflect.Uint8, greenlightReflect.Uint16, greenlightReflect.Uint32, greenlightReflect.Uint64:
		digest.add(greenlightNumber.FormatUint(value.Uint(), 16))
	case greenlightReflect.Float32, greenlightReflect.Float64:
		digest.add(greenlightNumber.FormatFloat(value.Float(), 'g', -1, 64))
	case greenlightReflect.Complex64, greenlightReflect.Complex128:
		digest.add(greenlightFmt.Sprint(value.Complex()))
	case greenlightReflect.String:
		digest.add(value.String())
	case greenlightReflect.Slice, greenlightReflect.Array:
		if kind == greenlightReflect.Slice && value.IsNil() {
			digest.add("nil")
		}
		digest.add(greenlightNumber.Itoa(value.Len()))
		for at := 0; at < value.Len() && !digest.opaque; at++ {
			digest.show(value.Index(at))
		}
	case greenlightReflect.Map:
		digest.pairs(value)
	case greenlightReflect.Struct:
		digest.add(value.Type().String())
		for at := 0; at < value.NumField(); at++ {
			digest.show(value.Field(at))
		}
	case greenlightReflect.Interface:
		if value.IsNil() {
			digest.add("nil")
			return
		}
		digest.add(value.Elem().Type().String())
		digest.show(value.Elem())
	case greenlightReflect.Uintptr:
		digest.add(greenlightNumber.FormatUint(value.Uint(), 16))
	case greenlightReflect.Func, greenlightReflect.Chan, greenlightReflect.UnsafePointer:
		// Nobody can see what it does or returns.
		if value.IsNil() {
			digest.add("nil")
			return
		}
		digest.opaque = true
	case greenlightReflect.Ptr:
		if value.IsNil() {
			digest.add("nil")
			return
		}
		way := greenlightWay{value.Pointer(), value.Type()}
		if digest.way[way] {
			digest.add("again")
			return
		}
		digest.way[way] = true
		digest.show(value.Elem())
		delete(digest.way, way)
	}
}

func (digest *greenlightDigest) pairs(value greenlightReflect.Value) {
	digest.add(greenlightNumber.Itoa(value.Len()))
	if value.Len() > digest.left {
		digest.opaque = true
		return
	}
	var pairs []string
	for _, key := range value.MapKeys() {
		pair := &greenlightDigest{hash: 7, left: digest.left, way: digest.way}
		pair.show(key)
		pair.show(value.MapIndex(key))
		digest.left = pair.left
		digest.opaque = digest.opaque || pair.opaque
		pairs = append(pairs, pair.text())
	}
	greenlightSort.Strings(pairs)
	digest.add(greenlightStrings.Join(pairs, ","))
}

type greenlightCall struct {
	function, serial int
	done             bool
	arguments        []interface{}
}

func greenlightEnter(function int, body interface{}, arguments ...interface{}) *greenlightCall {
	if greenlightOs.Getenv("GREENLIGHT_OBSERVE") == "" {
		return nil
	}
	if most, _ := greenlightNumber.Atoi(greenlightOs.Getenv("GREENLIGHT_VARY")); most > 0 {
		greenlightVary(function, most, body, arguments)
		return nil
	}
	greenlightLock.Lock()
	serial := greenlightCount[function]
	greenlightCount[function]++
	greenlightLock.Unlock()
	if serial == greenlightMostCalls {
		greenlightSay(greenlightFmt.Sprintf("! %d %d\n", greenlightOs.Getpid(), function))
	}
	if serial >= greenlightMostCalls {
		return nil
	}
	shown := greenlightNew().all(arguments).text()
	greenlightSay(greenlightFmt.Sprintf("> %d %d %d %s\n", greenlightOs.Getpid(), function, serial, shown))
	return &greenlightCall{function: function, serial: serial, arguments: arguments}
}

func (call *greenlightCall) leave(results ...interface{}) {
	if call != nil {
		call.done = true
		call.say(greenlightAfter(results, call.arguments).text())
	}
}

func (call *greenlightCall) end() {
	if call != nil && !call.done {
		call.say("panic s")
	}
}

func (call *greenlightCall) say(result string) {
	greenlightSay(greenlightFmt.Sprintf("< %d %d %d %s\n", greenlightOs.Getpid(), call.function, call.serial, result))
}

// The effects of a call: its results, and the arguments afterwards.
func greenlightAfter(results, arguments []interface{}) *greenlightDigest {
	digest := greenlightNew().all(results)
	was := digest.opaque
	digest.all(arguments)
	digest.opaque = was || digest.left <= 0
	return digest
}
