// The engine of Redpanda Connect with nothing but the parts that this work needs.
//
// Redpanda Connect itself cannot be had from the module proxy everywhere (see the README beside this file), so this is
// its lineage: Bento, the fork of Benthos 4 that is kept up under the MIT licence. Configurations are the same.
package main

import (
	"context"

	"github.com/warpstreamlabs/bento/public/service"

	_ "github.com/warpstreamlabs/bento/public/components/crypto"
	_ "github.com/warpstreamlabs/bento/public/components/io"
	_ "github.com/warpstreamlabs/bento/public/components/kafka"
	_ "github.com/warpstreamlabs/bento/public/components/pure"
)

func main() { service.RunCLI(context.Background()) }
