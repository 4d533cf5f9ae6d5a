// workload is what the containers of the real node run: it uses known amounts of CPU and memory. Without flags it only waits, as a
// sandbox's pause does.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	low := flag.Int("burn", 0, "millicores to burn")
	high := flag.Int("burn-high", 0, "millicores to burn in every second phase; 0: as -burn")
	phase := flag.Duration("phase", 17*time.Second, "length of a phase of -burn and -burn-high")
	hold := flag.Int("hold", 0, "MiB of memory to hold and use")
	cache := flag.Int("cache", 0, "MiB of files to write: page cache, which is no working set")
	exitAfter := flag.Duration("exit-after", 0, "end by then; 0: never")
	code := flag.Int("exit-code", 0, "exit code of -exit-after")
	flag.Parse()

	// PID 1 has no default action for signals.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)

	held := make([]byte, *hold<<20)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	if err := fill("/cache", *cache); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(2)
	}
	if *high == 0 {
		*high = *low
	}
	if *low > 0 {
		go burn(*low, *high, *phase)
	}
	var end <-chan time.Time
	if *exitAfter > 0 {
		end = time.After(*exitAfter)
	}
	select {
	case <-signals:
	case <-end:
		os.Exit(*code)
	}
	runtime.KeepAlive(held)
}

// burn uses the process's CPU time as its clock, not the wall's: what the machine withholds for a moment it makes up for in the next, up
// to a tenth of a second.
func burn(low, high int, phase time.Duration) {
	start, last := time.Now(), time.Now()
	want, used := time.Duration(0), cpuTime()
	for {
		now := time.Now()
		share := low
		if now.Sub(start)/phase%2 == 1 {
			share = high
		}
		want += now.Sub(last) * time.Duration(share) / 1000
		last = now
		spent := cpuTime() - used
		if want-spent > 100*time.Millisecond {
			want = spent + 100*time.Millisecond
		}
		if spent >= want {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		for until := time.Now().Add(time.Millisecond); time.Now().Before(until); {
		}
	}
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fill writes and flushes a file: clean pages of a file read or written once are inactive.
func fill(path string, mebibytes int) error {
	if mebibytes == 0 {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	for range mebibytes {
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
	return file.Sync()
}
