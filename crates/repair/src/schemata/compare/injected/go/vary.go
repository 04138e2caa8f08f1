// Calls an observed function again with variations of its arguments.
package observed

import (
	greenlightFmt "fmt"
	greenlightOs "os"
	greenlightReflect "reflect"
	greenlightDebug "runtime/debug"
	greenlightNumber "strconv"
	greenlightStrings "strings"
	greenlightTime "time"
	greenlightUnsafe "unsafe"
)

const (
	// Maximum number of inputs that are varied, and of variations of each.
	greenlightMostInputs = 16
	greenlightMostOthers = 32
	// Maximum number of values inside the arguments that are varied, and their maximum depth.
	greenlightMostPlaces = 24
	greenlightDeep       = 4
	// An input is abandoned after it ended the process with this many candidates.
	greenlightMostEnded = 2
	// A function is no longer varied after this many calls that ended the process.
	greenlightMostEndedInAll = 8
	// Maximum stack size in a call with a generated input, in bytes.
	greenlightMostStack = 64 << 20
	// Time limit of one call with a generated input.
	greenlightLong = 500 * greenlightTime.Millisecond
)

func greenlightVary(function, most int, body interface{}, arguments []interface{}) {
	hash := greenlightNew().all(arguments).hash
	greenlightLock.Lock()
	seen := greenlightSeen2[function]
	if seen == nil {
		seen = map[uint64]bool{}
		greenlightSeen2[function] = seen
	}
	was := seen[hash] || len(seen) >= greenlightMostInputs
	if !was {
		seen[hash] = true
	}
	greenlightLock.Unlock()
	if was {
		return
	}
	path, chosen := greenlightOs.Getenv("GREENLIGHT_OBSERVE"), greenlightOs.Getenv("GREENLIGHT_SWITCH")
	before := greenlightSaid()
	inAll := 0
	for _, line := range greenlightStrings.Split(before, "\n") {
		if greenlightStrings.HasPrefix(line, greenlightFmt.Sprintf("? %d ", function)) && greenlightStrings.HasSuffix(line, " ") {
			inAll++
		}
	}
	if inAll >= greenlightMostEndedInAll {
		return
	}
	call := greenlightReflect.ValueOf(body)
	input, ok := greenlightInput(call.Type(), arguments)
	if !ok {
		return
	}
	others := greenlightOthers(input)
	for at := 0; at <= others; at++ {
		// The first candidate runs again at the end: if its results differ, they depend on more than the input.
		for turn := 0; turn <= most+1 && greenlightEnded(before, function, hash, at, most) < greenlightMostEnded; turn++ {
			begun := greenlightFmt.Sprintf("? %d %016x %d %d ", function, hash, at, turn)
			if greenlightStrings.Contains(before, begun) {
				continue
			}
			greenlightSay(begun)
			candidate := turn
			if turn == most+1 {
				candidate = 1
			}
			own, ok := greenlightInput(call.Type(), arguments)
			if ok && at > 0 {
				ok = greenlightOther(own, at-1)
			}
			answer := "- -"
			if ok {
				greenlightOs.Setenv("GREENLIGHT_OBSERVE", "")
				greenlightOs.Setenv("GREENLIGHT_SWITCH", greenlightNumber.Itoa(candidate))
				answer = greenlightTry(call, own)
			}
			greenlightOs.Setenv("GREENLIGHT_OBSERVE", path)
			greenlightOs.Setenv("GREENLIGHT_SWITCH", chosen)
			greenlightSay(answer + "\n")
		}
	}
}

// The number of candidates with which an input has ended the process.
func greenlightEnded(before string, function int, hash uint64, at, most int) int {
	ended := 0
	for turn := 0; turn <= most+1; turn++ {
		if greenlightStrings.Contains(before, greenlightFmt.Sprintf("? %d %016x %d %d \n", function, hash, at, turn)) {
			ended++
		}
	}
	return ended
}

func greenlightTry(call greenlightReflect.Value, input []greenlightReflect.Value) (answer string) {
	watch := greenlightTime.AfterFunc(greenlightLong, func() { greenlightOs.Exit(97) })
	defer watch.Stop()
	defer greenlightDebug.SetMaxStack(greenlightDebug.SetMaxStack(greenlightMostStack))
	answer = "panic s"
	defer func() { _ = recover() }()
	var given []greenlightReflect.Value
	if call.Type().IsVariadic() {
		given = call.CallSlice(input)
	} else {
		given = call.Call(input)
	}
	digest := greenlightNew()
	for _, value := range given {
		if (value.Kind() == greenlightReflect.Func || value.Kind() == greenlightReflect.Chan) && !value.IsNil() {
			digest.opaque = true
		}
		digest.show(value)
	}
	was := digest.opaque
	for _, value := range input {
		digest.show(value)
	}
	digest.opaque = was || digest.left <= 0
	return digest.text()
}

// A separate copy of the arguments for a call, which shares nothing with others.
func greenlightInput(kind greenlightReflect.Type, arguments []interface{}) ([]greenlightReflect.Value, bool) {
	if kind.NumIn() != len(arguments) {
		return nil, false
	}
	var input []greenlightReflect.Value
	copier := &greenlightCopier{left: greenlightMostParts, made: map[greenlightWay]greenlightReflect.Value{}}
	for at, argument := range arguments {
		own := greenlightReflect.New(kind.In(at)).Elem()
		if argument != nil {
			own.Set(greenlightReflect.ValueOf(argument))
		}
		copier.deepen(own)
		input = append(input, own)
	}
	return input, copier.left > 0
}

type greenlightCopier struct {
	left int
	made map[greenlightWay]greenlightReflect.Value
}

// Replaces everything that a value refers to with copies; the value must be settable.
func (copier *greenlightCopier) deepen(value greenlightReflect.Value) {
	copier.left--
	if copier.left <= 0 {
		return
	}
	switch value.Kind() {
	case greenlightReflect.Ptr:
		if value.IsNil() || greenlightShared(value.Type().Elem()) {
			return
		}
		way := greenlightWay{value.Pointer(), value.Type()}
		made, was := copier.made[way]
		if !was {
			made = greenlightReflect.New(value.Type().Elem())
			copier.made[way] = made
			made.Elem().Set(value.Elem())
			copier.deepen(made.Elem())
		}
		value.Set(made.Convert(value.Type()))
	case greenlightReflect.Interface:
		if value.IsNil() {
			return
		}
		made := greenlightReflect.New(value.Elem().Type()).Elem()
		made.Set(value.Elem())
		copier.deepen(made)
		value.Set(made)
	case greenlightReflect.Slice:
		if value.IsNil() {
			return
		}
		made := greenlightReflect.MakeSlice(value.Type(), value.Len(), value.Len())
		greenlightReflect.Copy(made, value)
		if !greenlightIsPlain(value.Type().Elem()) {
			for at := 0; at < made.Len() && copier.left > 0; at++ {
				copier.deepen(made.Index(at))
			}
		}
		copier.left -= made.Len() / 64
		value.Set(made)
	case greenlightReflect.Array:
		for at := 0; at < value.Len() && copier.left > 0; at++ {
			copier.deepen(value.Index(at))
		}
	case greenlightReflect.Map:
		if value.IsNil() {
			return
		}
		made := greenlightReflect.MakeMap(value.Type())
		for _, key := range value.MapKeys() {
			inner := greenlightReflect.New(value.Type().Elem()).Elem()
			inner.Set(value.MapIndex(key))
			copier.deepen(inner)
			made.SetMapIndex(key, inner)
			if copier.left <= 0 {
				return
			}
		}
		value.Set(made)
	case greenlightReflect.Struct:
		for at := 0; at < value.NumField(); at++ {
			copier.deepen(greenlightField(value, at))
		}
	}
}

// A field that can be set, even if it is unexported.
func greenlightField(value greenlightReflect.Value, at int) greenlightReflect.Value {
	field := value.Field(at)
	return greenlightReflect.NewAt(field.Type(), greenlightUnsafe.Pointer(field.UnsafeAddr())).Elem()
}

func greenlightIsPlain(kind greenlightReflect.Type) bool {
	return kind.Kind() <= greenlightReflect.Complex128 || kind.Kind() == greenlightReflect.String
}

// Whether the identity of values of this type matters, so that they cannot be copied.
func greenlightShared(kind greenlightReflect.Type) bool {
	switch greenlightStrings.Split(kind.PkgPath(), "/")[0] {
	case "reflect", "runtime", "internal", "time", "regexp", "testing", "os", "net", "context", "database", "log", "syscall", "unique", "plugin":
		return true
	}
	return false
}

type greenlightPlace struct {
	value greenlightReflect.Value
}

// The places in the arguments that can be varied, in the same order for every copy of them.
func greenlightPlaces(input []greenlightReflect.Value) []greenlightPlace {
	var places []greenlightPlace
	var look func(value greenlightReflect.Value, deep int)
	look = func(value greenlightReflect.Value, deep int) {
		if deep == 0 || len(places) >= greenlightMostPlaces {
			return
		}
		switch value.Kind() {
		case greenlightReflect.Ptr:
			if !value.IsNil() && !greenlightShared(value.Type().Elem()) {
				look(value.Elem(), deep-1)
			}
		case greenlightReflect.Struct:
			if greenlightShared(value.Type()) || value.Type().PkgPath() == "sync" {
				return
			}
			for at := 0; at < value.NumField(); at++ {
				look(greenlightField(value, at), deep-1)
			}
		case greenlightReflect.Slice:
			if value.Len() > 0 {
				places = append(places, greenlightPlace{value})
			}
			for at := 0; at < value.Len() && at < 2; at++ {
				look(value.Index(at), deep-1)
			}
		case greenlightReflect.Map, greenlightReflect.Bool, greenlightReflect.String, greenlightReflect.Float32, greenlightReflect.Float64:
			places = append(places, greenlightPlace{value})
		case greenlightReflect.Int, greenlightReflect.Int8, greenlightReflect.Int16, greenlightReflect.Int32, greenlightReflect.Int64,
			greenlightReflect.Uint, greenlightReflect.Uint8, greenlightReflect.Uint16, greenlightReflect.Uint32, greenlightReflect.Uint64:
			places = append(places, greenlightPlace{value})
		}
	}
	for _, value := range input {
		look(value, greenlightDeep)
	}
	return places
}

// The number of variations of one place; the places take turns.
const greenlightTurns = 7

func greenlightOthers(input []greenlightReflect.Value) int {
	others := len(greenlightPlaces(input)) * greenlightTurns
	if others > greenlightMostOthers {
		return greenlightMostOthers
	}
	return others
}

// Varies one place. Returns false if that changes nothing.
func greenlightOther(input []greenlightReflect.Value, at int) bool {
	places := greenlightPlaces(input)
	if len(places) == 0 {
		return false
	}
	value, turn := places[at%len(places)].value, at/len(places)
	switch value.Kind() {
	case greenlightReflect.Bool:
		value.SetBool(!value.Bool())
		return turn == 0
	case greenlightReflect.String:
		text := value.String()
		runes := []rune(text)
		all := []string{"", text + text, " " + text, greenlightStrings.ToUpper(text), text + "é", text, text}
		if len(runes) > 0 {
			all[5], all[6] = string(runes[1:]), string(runes[:len(runes)-1])
		}
		value.SetString(all[turn])
		return all[turn] != text
	case greenlightReflect.Float32, greenlightReflect.Float64:
		was := value.Float()
		value.SetFloat([]float64{was + 1, was - 1, 0, -was, was * 2, was / 2, -1}[turn])
		return value.Float() != was
	case greenlightReflect.Map:
		value.Set(greenlightReflect.MakeMap(value.Type()))
		return turn == 0
	case greenlightReflect.Slice:
		return greenlightSlice(value, turn)
	case greenlightReflect.Int, greenlightReflect.Int8, greenlightReflect.Int16, greenlightReflect.Int32, greenlightReflect.Int64:
		was := value.Int()
		value.SetInt([]int64{was + 1, was - 1, 0, -was, was * 2, -1, was / 2}[turn])
		return value.Int() != was
	default:
		was := value.Uint()
		value.SetUint([]uint64{was + 1, was - 1, 0, was * 2, was / 2, was, was}[turn])
		return value.Uint() != was
	}
}

func greenlightSlice(value greenlightReflect.Value, turn int) bool {
	was := value.Len()
	order := make([]int, was)
	for at := range order {
		order[at] = at
	}
	switch turn {
	case 0:
		order = nil
	case 1:
		order = order[:was-1]
	case 2:
		order = order[1:]
	case 3:
		for at := range order {
			order[at] = was - 1 - at
		}
	case 4:
		order = append(order, order...)
	case 5:
		order = append([]int{0}, order...)
	default:
		order = append(order[1:], 0)
	}
	made := greenlightReflect.MakeSlice(value.Type(), 0, len(order))
	for _, at := range order {
		made = greenlightReflect.Append(made, value.Index(at))
	}
	value.Set(made)
	return was > 1 || turn == 0 || turn > 3
}
