package credential_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// hashes counts what a check costs.
func hashes(p *credential.Passwords, h *credential.Hasher, user, password string) (count uint64, who string) {
	before := h.Hashed()
	who = whose(p, h, user, password)
	return h.Hashed() - before, who
}

func TestAnUnknownUserCostsWhatAWrongPasswordCosts(t *testing.T) {
	long := strings.Repeat("x", 73)
	for name, c := range map[string]struct {
		file     []string
		password string // wrong for alice
		want     uint64
	}{
		"one hash":                        {[]string{"alice:" + bcryptOf(t, "a")}, "b", 1},
		"two hashes":                      {[]string{"alice:" + bcryptOf(t, "a"), "alice:" + bcryptOf(t, "b")}, "c", 2},
		"apr1":                            {[]string{"alice:" + apacheApr1}, "b", 1},
		"SHA":                             {[]string{"alice:" + apacheSHA}, "b", 1},
		"SHA and bcrypt":                  {[]string{"alice:" + apacheSHA, "alice:" + bcryptOf(t, "a")}, "b", 2},
		"a password too long for bcrypt":  {[]string{"alice:" + bcryptOf(t, "a")}, long, 0},
		"too long for one of two":         {[]string{"alice:" + bcryptOf(t, "a"), "alice:" + apacheApr1}, long, 1},
		"the longest for the others":      {[]string{"alice:" + apacheApr1}, strings.Repeat("x", 1024), 1},
		"a password too long for any":     {[]string{"alice:" + apacheApr1}, strings.Repeat("x", 1025), 0},
		"a password that nobody can have": {[]string{"alice:" + bcryptOf(t, "a")}, "a\x00a", 0},
		"an empty password":               {[]string{"alice:" + bcryptOf(t, "a")}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, h := users(t, c.file...), credential.NewHasher(1)
			for range 2 { // nothing is remembered of what is wrong
				for _, user := range []string{"alice", "mallory", "ALICE", "", "no name"} {
					count, who := hashes(p, h, user, c.password)
					assert.Equal(t, c.want, count, user)
					assert.Equal(t, "unknown", who, user)
				}
			}
		})
	}
}

func TestAnUnknownUserCostsTheSameEveryTimeAndEverywhere(t *testing.T) {
	var file []string
	for i := range 20 {
		file = append(file, fmt.Sprintf("user%d:%s", i, apacheSHA))
		if i%2 == 0 {
			file = append(file, fmt.Sprintf("user%d:%s", i, apacheApr1))
		}
	}
	one, two := users(t, file...), users(t, file...)
	h, other := credential.NewHasher(1), credential.NewHasher(1)
	seen := make(map[uint64]bool)
	for i := range 64 {
		name := fmt.Sprintf("unknown%d", i)
		count, who := hashes(one, h, name, "myPassword")
		assert.Equal(t, "unknown", who, "the right password of the decoy")
		again, _ := hashes(one, h, name, "x")
		elsewhere, _ := hashes(two, other, name, "x")
		assert.Equal(t, count, again, name)
		assert.Equal(t, count, elsewhere, name)
		seen[count] = true
	}
	assert.Equal(t, map[uint64]bool{1: true, 2: true}, seen, "each kind of user is a decoy")
}

func TestAPasswordThatBcryptWouldCutIsNeverRight(t *testing.T) {
	most := strings.Repeat("x", 72)
	p, h := users(t, "alice:"+bcryptOf(t, most)), credential.NewHasher(1)
	assert.Equal(t, "alice", whose(p, h, "alice", most))
	assert.Equal(t, "unknown", whose(p, h, "alice", most+"y"))
	assert.Equal(t, "unknown", whose(p, h, "alice", most+"\x00"))
}

func TestWhatWasRightIsRemembered(t *testing.T) {
	p, h := users(t, "alice:"+bcryptOf(t, "a"), "alice:"+bcryptOf(t, "b"), "bob:"+apacheApr1), credential.NewHasher(1)
	for _, c := range []struct {
		user, password, who string
		hashes              uint64
	}{
		{"alice", "a", "alice", 1},
		{"alice", "a", "alice", 0},
		{"alice", "b", "alice", 2},
		{"alice", "b", "alice", 0},
		{"alice", "c", "unknown", 2},
		{"alice", "a", "alice", 0},
		{"bob", "myPassword", "bob", 1},
		{"bob", "myPassword", "bob", 0},
		{"bob", "a", "unknown", 1},
	} {
		count, who := hashes(p, h, c.user, c.password)
		assert.Equal(t, c.who, who, "%s %s", c.user, c.password)
		assert.Equal(t, c.hashes, count, "%s %s", c.user, c.password)
	}
}

func TestASuccessBelongsToOneVersionOfOneSecretOfOneApp(t *testing.T) {
	p, h := users(t, "alice:"+bcryptOf(t, "a")), credential.NewHasher(1)
	base := credential.Owner{App: "shop", Namespace: "ab", Name: "c", UID: "12", Version: "3"}
	for i, owner := range []credential.Owner{
		base,
		{App: "other", Namespace: "ab", Name: "c", UID: "12", Version: "3"},
		{App: "shop", Namespace: "a", Name: "bc", UID: "12", Version: "3"},
		{App: "shop", Namespace: "ab", Name: "c", UID: "1", Version: "23"},
		{App: "shop", Namespace: "ab", Name: "c", UID: "12", Version: "4"},
		{App: "shop", Namespace: "ab", Name: "c", UID: "13", Version: "3"},
		{App: "shop", Namespace: "ab", Name: "d", UID: "12", Version: "3"},
		{},
	} {
		for range 2 {
			client, result := p.Check(h, owner, "alice", "a", nil)
			assert.Equal(t, credential.Valid, result)
			assert.Equal(t, "alice", client)
			assert.Equal(t, uint64(i+1), h.Hashed(), "%+v", owner)
		}
	}
}

func TestAPasswordThatIsGoneIsRefusedAtOnceThoughTheVersionIsTheSame(t *testing.T) {
	is := bcryptOf(t, "new")
	before, after := users(t, "alice:"+bcryptOf(t, "old"), "alice:"+is), users(t, "alice:"+is)
	h := credential.NewHasher(1)
	assert.Equal(t, "alice", whose(before, h, "alice", "old"))
	assert.Equal(t, "alice", whose(before, h, "alice", "new"))
	assert.Equal(t, "unknown", whose(after, h, "alice", "old"))
	count, who := hashes(after, h, "alice", "new")
	assert.Equal(t, "alice", who)
	assert.Zero(t, count, "the hash is the same")
}

func TestTheMemoryIsBounded(t *testing.T) {
	h := credential.NewHasher(1)
	h.Remember(0)
	for i := 1; i < 5*credential.Generation; i++ {
		h.Remember(i)
		assert.LessOrEqual(t, h.Remembered(), 2*credential.Generation)
		if i%(credential.Generation/2) == 0 {
			assert.True(t, h.Remembers(0), "it is asked for all the time")
		}
	}
	assert.False(t, h.Remembers(1), "it is never asked for")
	assert.True(t, h.Remembers(5*credential.Generation-1), "it is new")
}

func TestOneCallerWithManyRequestsIsHashedOnce(t *testing.T) {
	p, h := users(t, "alice:"+bcryptOf(t, "a")), credential.NewHasher(1)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { assert.Equal(t, "alice", whose(p, h, "alice", "a")) })
	}
	all.Wait()
	assert.Equal(t, uint64(1), h.Hashed())
}

func TestWithoutAHasherNobodyCanLook(t *testing.T) {
	p := users(t, "alice:"+bcryptOf(t, "a"))
	assert.Equal(t, "overloaded", whose(p, nil, "alice", "a"))
	assert.Equal(t, "overloaded", whose(p, nil, "mallory", "a"))
	assert.Equal(t, "unknown", whose(p, nil, "alice", "a\x00"))
}

func TestACheckThatCannotWaitIsOverloadedUnlessNothingIsToHash(t *testing.T) {
	p, h := users(t, "alice:"+bcryptOf(t, "a"), "bob:"+apacheSHA), credential.NewHasher(0)
	assert.Equal(t, "alice", whose(p, h, "alice", "a"))
	gone := make(chan struct{})
	close(gone)
	h.RunInTurn("shop", 1, nil, func() {
		for _, c := range []struct {
			user, password string
			want           credential.Result
		}{
			{"alice", "a", credential.Valid}, // remembered
			{"alice", "b", credential.Overloaded},
			{"bob", "myPassword", credential.Valid}, // SHA
			{"bob", "b", credential.Unknown},
			{"alice", strings.Repeat("a", 73), credential.Unknown},
		} {
			_, result := p.Check(h, shopSecret, c.user, c.password, gone)
			assert.Equal(t, c.want, result, "%s %.8s", c.user, c.password)
		}
	})
	assert.Equal(t, "unknown", whose(p, h, "alice", "b"), "the slot is free again")
}

// A hit makes one MAC, takes no slot and allocates nothing.
func BenchmarkCheckRemembered(b *testing.B) {
	p, h := users(b, "alice:"+bcryptOf(b, "open sesame")), credential.NewHasher(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, result := p.Check(h, shopSecret, "alice", "open sesame", nil); result != credential.Valid {
			b.Fatal(result)
		}
	}
	assert.Equal(b, uint64(1), h.Hashed())
}

func BenchmarkCheckApr1(b *testing.B) {
	for _, size := range []int{8, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p, h, wrong := users(b, "alice:"+apacheApr1), credential.NewHasher(1), strings.Repeat("x", size)
			for b.Loop() {
				if _, result := p.Check(h, shopSecret, "alice", wrong, nil); result != credential.Unknown {
					b.Fatal(result)
				}
			}
		})
	}
}
