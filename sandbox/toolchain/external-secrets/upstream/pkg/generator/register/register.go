// Package register names the generators that are built in: none, the platform uses none.
package register
